import Foundation

/// Where a library has its disk cache, and under which name it looks for a URL.
protocol KeyedLayout: Sendable {
    /// The directories beneath the one that is exported to, from the outermost. An app can choose
    /// the name of the last.
    var folders: [String] { get set }
    /// The date of last modification that files must have; nil: any. With one, no file may be
    /// another name of the cache's own, which has one date with it.
    var modified: Date? { get }
    /// How the directory lists its files; nil if it does not.
    var journal: JournalForm? { get }
    /// Whether the library stores the bodies of errors, and the status in the first other file.
    var storesErrors: Bool { get }

    /// What the name of a URL's files begins with, and what tells them from others'.
    func stem(of url: String) -> String
    /// The names under which the library looks for a URL's bytes, in its order.
    func names(of url: String) -> [String]
    /// The stem of a file's name; nil if the library would give no file that name.
    func stem(ofFile name: String) -> String?
}

extension KeyedLayout {
    /// A date that never expires: the end of 2037, the last year that 32 bits have seconds for, as
    /// some archives do. The same in every export, so that the same cache gives the same tree.
    static var lastDate: Date { Date(timeIntervalSince1970: 2_145_830_400) }

    var modified: Date? { nil }
    var journal: JournalForm? { nil }
    var storesErrors: Bool { false }

    /// The names under which the library looks for a URL's bytes, in its order.
    func names(of url: String) -> [String] { [file(stem(of: url))] }

    /// The name of the file that has the bytes.
    func file(_ stem: String) -> String { journal?.dataFile(stem) ?? stem }
}

extension ExportLayout {
    /// The rules of a library; nil of a layout that is none's.
    ///
    /// - Parameters:
    ///   - kingfisherVersion: 7 or 8.
    ///   - folder: the name that an app has given the library's directory; nil: the library's own.
    func keyed(kingfisherVersion: Int, folder: String?) -> (any KeyedLayout)? {
        var layout: (any KeyedLayout)? =
            switch self {
            case .nuke: NukeLayout()
            case .sdwebimage: SDWebImageLayout()
            case .kingfisher: KingfisherLayout(version: kingfisherVersion)
            case .coil: CoilLayout(version: 3)
            case .coil2: CoilLayout(version: 2)
            case .glide: GlideLayout()
            case .files, .assetCatalog, .gallery: nil
            }
        if let folder {
            precondition(Self.isFolder(folder), "a name that is no directory's")
            layout?.folders.removeLast()
            layout?.folders.append(folder)
        }
        return layout
    }
}

/// Nuke's `DataCache` with the name that `.withDataCache` gives it.
///
/// Source: Nuke 13.2.0, Sources/Nuke/Caching/DataCache.swift (`filename(for:)`) and
/// Sources/Nuke/Internal/Extensions.swift (`sha1`); the key of an unprocessed image is its URL's
/// `absoluteString`.
struct NukeLayout: KeyedLayout {
    var folders = ["com.github.kean.Nuke.DataCache"]

    func stem(of url: String) -> String { url.sha1Hex }

    func stem(ofFile name: String) -> String? { name.isHex(40) ? name : nil }
}

/// Kingfisher's default `DiskStorage`, with hashed names and no extension, as it is unless an app
/// says otherwise.
///
/// Source: Kingfisher 8.11.0 and 7.12.0, Sources/Cache/DiskStorage.swift (`cacheFileName`,
/// `FileMeta`), Sources/Utility/String+SHA256.swift and String+MD5.swift; the key of an unprocessed
/// image is its URL's `absoluteString`.
struct KingfisherLayout: KeyedLayout {
    /// 8 and later: SHA-256; 7 and earlier: MD5.
    let version: Int
    var folders = ["com.onevcat.Kingfisher.ImageCache.default"]

    /// It expires then.
    var modified: Date? { Self.lastDate }

    func stem(of url: String) -> String { version >= 8 ? url.sha256Hex : url.md5Hex }

    func stem(ofFile name: String) -> String? { name.isHex(version >= 8 ? 64 : 32) ? name : nil }
}

/// SDWebImage's default `SDImageCache`.
///
/// Source: SDWebImage 5.21.5, SDWebImage/Core/SDDiskCache.m (`SDDiskCacheFileNameForKey`) and
/// SDImageCache.m (`defaultDiskCacheDirectory`); SDWebImage 5.19.7, SDDiskCache.m
/// (`removeExpiredData`).
struct SDWebImageLayout: KeyedLayout {
    /// `NAME_MAX` of Darwin, less the digest and the dot: in UTF-16, as `NSString` counts.
    private static let longestExtension = 255 - 32 - 1

    var folders = ["com.hackemist.SDImageCache", "default"]

    /// Before 5.20, files expire 7 days after this date. Since then, they expire 7 days after the
    /// last access.
    var modified: Date? { Self.lastDate }

    func stem(of url: String) -> String {
        var suffix = PathExtension.ofURL(url) ?? PathExtension.ofText(url)
        suffix.unicodeScalars.removeAll { $0.value == 0 || $0.value == 0x3A }
        guard !suffix.utf8.isEmpty, suffix.utf16.count <= Self.longestExtension else {
            return url.md5Hex
        }
        return "\(url.md5Hex).\(suffix)"
    }

    /// It also looks for a name without an extension, as its version 3 had it (`dataForKey:`).
    func names(of url: String) -> [String] {
        let (name, old) = (stem(of: url), url.md5Hex)
        return name.isSame(as: old) ? [name] : [name, old]
    }

    func stem(ofFile name: String) -> String? {
        let digest = String(decoding: name.utf8.prefix(32), as: UTF8.self)
        let rest = name.utf8.dropFirst(32)
        guard digest.isHex(32),
            rest.isEmpty || rest.first == UInt8(ascii: ".") && rest.count > 1
        else { return nil }
        return name
    }
}

/// The list of files in a directory of Jake Wharton's DiskLruCache, version 1, which Coil and Glide
/// have copies of.
struct JournalForm: Sendable {
    static let file = "journal"
    /// The journal's name while the library replaces it. The library reads this file if there is no
    /// other.
    static let backup = "journal.bkp"

    /// The application's version, as the library has it; another one makes it delete everything.
    let appVersion: Int
    /// How many files there are for a key. The last has the bytes, the others are empty.
    let valueCount: Int

    var header: String { "libcore.io.DiskLruCache\n1\n\(appVersion)\n\(valueCount)\n\n" }

    /// The line of a key whose files are whole.
    ///
    /// - Parameter sizes: of its files, in their order, with a space before each.
    func line(_ stem: String, sizes: String) -> String { "CLEAN \(stem)\(sizes)\n" }

    func files(_ stem: String) -> [String] { (0..<valueCount).map { "\(stem).\($0)" } }

    /// The name of a file until the library has written it to its end.
    static func unfinished(_ file: String) -> String { file + ".tmp" }

    func dataFile(_ stem: String) -> String { "\(stem).\(valueCount - 1)" }

    func emptyFiles(_ stem: String) -> [String] { (0..<valueCount - 1).map { "\(stem).\($0)" } }

    /// The key of a file's name; nil if it is none of a key's files.
    func stem(ofFile name: String) -> String? {
        let stem = String(decoding: name.utf8.prefix(64), as: UTF8.self)
        let isOwn = stem.isHex(64) && (0..<valueCount).contains { name.isSame(as: "\(stem).\($0)") }
        return isOwn ? stem : nil
    }
}
