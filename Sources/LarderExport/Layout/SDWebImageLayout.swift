import Foundation
import LarderCache

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
