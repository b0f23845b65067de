import Foundation
import LarderCore

/// The disk cache of an image library: its directory, and the file names for a URL.
struct KeyedLayout: Sendable {
    /// Darwin's `NAME_MAX` minus the digest and the dot, in UTF-16 units like `NSString`.
    private static let longestExtension = 255 - 32 - 1

    /// The path components of the directory. An app can choose the last one.
    var folders: [String]
    /// The length of the URL's digest in a name: 32 (MD5), 40 (SHA-1) or 64 (SHA-256).
    let digits: Int
    var hasExtension = false
    /// The required modification date, which rules out hard links. Default: nil (any date).
    var modified: Date?
    /// The format of the directory's list of files. Default: nil (no list).
    var journal: JournalForm?
    /// Whether the first metadata file begins with a response status, possibly an error.
    var storesErrors = false
    var seed: AppSeed?

    private func digest(of url: String) -> String {
        switch digits {
        case 32: url.md5Hex
        case 40: url.sha1Hex
        default: url.sha256Hex
        }
    }

    func stem(of url: String) -> String {
        let digest = digest(of: url)
        guard hasExtension else { return digest }
        var suffix = PathExtension.ofURL(url) ?? PathExtension.ofText(url)
        suffix.unicodeScalars.removeAll { $0.value == 0 || $0.value == 0x3A }
        let isUsable = !suffix.utf8.isEmpty && suffix.utf16.count <= Self.longestExtension
        return isUsable ? "\(digest).\(suffix)" : digest
    }

    /// Returns the stem of a file name, or nil if the library never creates such a name.
    func stem(ofFile name: String) -> String? {
        let digest = String(decoding: name.utf8.prefix(digits), as: UTF8.self)
        guard digest.isHex(digits) else { return nil }
        if let journal {
            return journal.files(digest).contains { name.isSame(as: $0) } ? digest : nil
        }
        let rest = name.utf8.dropFirst(digits)
        let isExtension = hasExtension && rest.first == UInt8(ascii: ".") && rest.count > 1
        return rest.isEmpty || isExtension ? name : nil
    }

    func file(_ stem: String) -> String { journal?.files(stem).last ?? stem }

    /// Returns the file names that the library tries. SDWebImage also looks up a name without an
    /// extension, as in version 3 (`dataForKey:`).
    func names(of url: String) -> [String] {
        let (name, digest) = (file(stem(of: url)), digest(of: url))
        return hasExtension && !name.isSame(as: digest) ? [name, digest] : [name]
    }
}

struct AppSeed {
    let library: String
    /// The latest time to call the installer, for example `before you create the cache`.
    let moment: String
    /// Whether the modification date is the expiration date, and the creation date the last access.
    var isExpiry = false
}

extension KeyedLayout {
    /// The end of 2037, because some archives store 32-bit seconds. Makes exports deterministic.
    private static let lastDate = Date(timeIntervalSince1970: 2_145_830_400)

    /// Nuke's `DataCache` with the default name of `.withDataCache`.
    /// Source: Nuke 13.2.0, DataCache.swift (`filename(for:)`) and Extensions.swift (`sha1`). The
    /// key of an unprocessed image is its URL's `absoluteString`.
    static let nuke = KeyedLayout(
        folders: ["com.github.kean.Nuke.DataCache"], digits: 40,
        seed: AppSeed(
            library: "Nuke", moment: "before you create a pipeline with this `DataCache`"))

    /// Kingfisher's default `DiskStorage`: hashed names without an extension.
    /// Source: Kingfisher 8.11.0 and 7.12.0, DiskStorage.swift (`cacheFileName`, `FileMeta`),
    /// String+SHA256.swift and String+MD5.swift. Keys are as in Nuke.
    static func kingfisher(digits: Int) -> KeyedLayout {
        let moment = "before you create the `ImageCache`, which lists its files only at creation"
        return KeyedLayout(
            folders: ["com.onevcat.Kingfisher.ImageCache.default"], digits: digits,
            modified: lastDate,
            seed: AppSeed(library: "Kingfisher", moment: moment, isExpiry: true))
    }

    /// SDWebImage's default `SDImageCache`. Before version 5.20, SDWebImage removes files 7 days
    /// after the modification date. Later versions use the access date.
    /// Source: SDWebImage 5.21.5, SDDiskCache.m (`SDDiskCacheFileNameForKey`) and SDImageCache.m
    /// (`defaultDiskCacheDirectory`); 5.19.7, SDDiskCache.m (`removeExpiredData`).
    static let sdWebImage = KeyedLayout(
        folders: ["com.hackemist.SDImageCache", "default"], digits: 32, hasExtension: true,
        modified: lastDate,
        seed: AppSeed(library: "SDWebImage", moment: "before you use the `SDImageCache`"))

    /// Coil's default `DiskCache`. Coil always uses an entry with empty metadata.
    /// Source: Coil 3.5.0, coil-core: RealDiskCache.kt and DiskLruCache.kt, coil-network-core:
    /// NetworkFetcher.kt (`doFetch`).
    static let coil = KeyedLayout(
        folders: ["coil3_disk_cache"], digits: 64,
        journal: JournalForm(appVersion: 3, valueCount: 2), storesErrors: true)

    /// Coil 2, which stores only successful responses, without their status. Source: Coil 2.7.0,
    /// RealDiskCache.kt, DiskLruCache.kt, HttpUriFetcher.kt and Utils.kt (`SingletonDiskCache`).
    static let coil2 = KeyedLayout(
        folders: ["image_cache"], digits: 64, journal: JournalForm(appVersion: 1, valueCount: 2))

    /// Original data (`DataCacheKey`, unsigned) in Glide's default `DiskLruCacheWrapper`. Source:
    /// Glide 5.0.9, DataCacheKey.java, GlideUrl.java, EmptySignature.java (which adds nothing to
    /// the digest), SafeKeyGenerator.java, DiskLruCacheWrapper.java, and third_party/disklrucache.
    static let glide = KeyedLayout(
        folders: ["image_manager_disk_cache"], digits: 64,
        journal: JournalForm(appVersion: 1, valueCount: 1))
}

/// The journal format of Jake Wharton's DiskLruCache, version 1, which Coil and Glide copied.
struct JournalForm: Sendable {
    static let file = "journal"
    /// The library reads this file if the journal is missing.
    static let backup = "journal.bkp"

    /// The version in the journal. If the library's version differs, it deletes all entries.
    let appVersion: Int
    /// The number of files per key. The last file contains the bytes. The other files are empty.
    let valueCount: Int

    var header: String { "libcore.io.DiskLruCache\n1\n\(appVersion)\n\(valueCount)\n\n" }

    func files(_ stem: String) -> [String] { (0..<valueCount).map { "\(stem).\($0)" } }
    func emptyFiles(_ stem: String) -> [String] { Array(files(stem).dropLast()) }
}
