import Foundation
import LarderCore

/// The expiration date: the end of 2037, because some archives store 32-bit seconds. A constant
/// date makes exports deterministic.
private let lastDate = Date(timeIntervalSince1970: 2_145_830_400)

/// Nuke's `DataCache` with the default name of `.withDataCache`.
///
/// Source: Nuke 13.2.0, Sources/Nuke/Caching/DataCache.swift (`filename(for:)`) and
/// Sources/Nuke/Internal/Extensions.swift (`sha1`). The key of an unprocessed image is its URL's
/// `absoluteString`.
struct NukeLayout: KeyedLayout {
    var folders = ["com.github.kean.Nuke.DataCache"]

    var seed: AppSeed? {
        AppSeed(library: "Nuke", moment: "before you create a pipeline with this `DataCache`")
    }

    func stem(of url: String) -> String { url.sha1Hex }
    func stem(ofFile name: String) -> String? { name.isHex(40) ? name : nil }
}

/// Kingfisher's default `DiskStorage`: hashed names without an extension.
///
/// Source: Kingfisher 8.11.0 and 7.12.0, Sources/Cache/DiskStorage.swift (`cacheFileName`,
/// `FileMeta`), Sources/Utility/String+SHA256.swift and String+MD5.swift. The key of an unprocessed
/// image is its URL's `absoluteString`.
struct KingfisherLayout: KeyedLayout {
    let version: Int
    var folders = ["com.onevcat.Kingfisher.ImageCache.default"]

    var modified: Date? { lastDate }

    var seed: AppSeed? {
        AppSeed(
            library: "Kingfisher",
            moment: "before you create the `ImageCache`, which lists its files only at creation",
            dates: .expiry)
    }

    func stem(of url: String) -> String { version >= 8 ? url.sha256Hex : url.md5Hex }
    func stem(ofFile name: String) -> String? { name.isHex(version >= 8 ? 64 : 32) ? name : nil }
}

/// SDWebImage's default `SDImageCache`.
///
/// Source: SDWebImage 5.21.5, SDWebImage/Core/SDDiskCache.m (`SDDiskCacheFileNameForKey`) and
/// SDImageCache.m (`defaultDiskCacheDirectory`); SDWebImage 5.19.7, SDDiskCache.m
/// (`removeExpiredData`).
struct SDWebImageLayout: KeyedLayout {
    /// The maximum length of an extension: Darwin's `NAME_MAX` minus the digest and the dot, in
    /// UTF-16 units like `NSString`.
    private static let longestExtension = 255 - 32 - 1

    var folders = ["com.hackemist.SDImageCache", "default"]

    /// Before version 5.20, SDWebImage removes files 7 days after this date. Later versions use the
    /// last access.
    var modified: Date? { lastDate }

    var seed: AppSeed? {
        AppSeed(
            library: "SDWebImage", moment: "before you use the `SDImageCache`",
            dates: .modification)
    }

    func stem(of url: String) -> String {
        var suffix = PathExtension.ofURL(url) ?? PathExtension.ofText(url)
        suffix.unicodeScalars.removeAll { $0.value == 0 || $0.value == 0x3A }
        guard !suffix.utf8.isEmpty, suffix.utf16.count <= Self.longestExtension else {
            return url.md5Hex
        }
        return "\(url.md5Hex).\(suffix)"
    }

    /// Returns the file names. SDWebImage also looks up a name without an extension, as in version
    /// 3 (`dataForKey:`).
    func names(of url: String) -> [String] {
        let (name, old) = (stem(of: url), url.md5Hex)
        return name.isSame(as: old) ? [name] : [name, old]
    }

    func stem(ofFile name: String) -> String? {
        let digest = String(decoding: name.utf8.prefix(32), as: UTF8.self)
        let rest = name.utf8.dropFirst(32)
        guard digest.isHex(32), rest.isEmpty || rest.first == UInt8(ascii: ".") && rest.count > 1
        else { return nil }
        return name
    }
}
