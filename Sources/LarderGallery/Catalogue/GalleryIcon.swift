import Foundation
import LarderCache

/// One icon as the gallery shows it.
public struct GalleryIcon: Sendable {
    /// The app's name as its manifest has it, else the last part of the URL's path. Text from
    /// outside, at most ``GalleryLimits/nameBytes``.
    public let name: String
    /// Its URL, secrets masked; at most ``GalleryLimits/urlBytes``. Nil if the manifest's entry
    /// has none that could be read.
    public let url: String?
    /// The URL's host and port; nil if it has none.
    public let host: String?
    /// Which of the manifests names it; nil if none does.
    public let manifest: Int?
    /// What the cache has; nil if that is nothing.
    public let resource: Resource?
    /// How it is.
    public let state: GalleryState
    /// Why it is so, for people; nil if nothing is wrong.
    public let note: String?
    /// What of the cached bytes is not as the manifest demands, by the reason that a prefetch
    /// reports; nil if that is not why it is missing.
    public let mismatch: String?

    init(
        name: String?, url: String?, manifest: Int?, resource: Resource?, state: GalleryState,
        note: String?, mismatch: String? = nil
    ) {
        let name = name.flatMap { $0.isEmpty ? nil : $0 } ?? Self.name(in: url) ?? "unnamed"
        self.name = name.cut(to: GalleryLimits.nameBytes)
        self.url = url?.cut(to: GalleryLimits.urlBytes)
        host = url?.hostAndPort?.cut(to: GalleryLimits.nameBytes)
        self.manifest = manifest
        self.resource = resource
        self.state = state
        self.mismatch = mismatch
        self.note = note?.cut(to: GalleryLimits.nameBytes)
    }

    /// The last part of a URL's path, as people write it.
    private static func name(in url: String?) -> String? {
        guard let url else { return nil }
        let path = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard let last = path.split(separator: UInt8(ascii: "/")).last,
            let text = String(last)
        else { return nil }
        return text.removingPercentEncoding ?? text
    }
}

/// What a gallery shows at most: a browser holds all of it.
public enum GalleryLimits {
    /// How many icons; how many there are is said.
    public static let icons = 100_000
    /// How many bytes of a name, or of a reason.
    public static let nameBytes = 256
    /// How many bytes of a URL.
    public static let urlBytes = 2048
}

extension String {
    /// Its beginning, in whole characters, if it is longer than a number of bytes.
    fileprivate func cut(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while String.Index(end, within: unicodeScalars) == nil { end = utf8.index(before: end) }
        return self[..<end] + "…"
    }
}
