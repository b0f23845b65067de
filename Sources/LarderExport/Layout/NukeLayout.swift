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
