import Foundation

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
