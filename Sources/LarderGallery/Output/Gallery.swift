import Foundation
import LarderCache
import LarderKit

/// A page for people, with every icon that manifests name or a cache has, and the files it needs.
///
/// It is made of scripts that hold data, and not of JSON, because a browser that opens a page from
/// a disk lets it load those alone.
public struct Gallery {
    /// How many icons a script has.
    static let iconsPerFile = 1000

    private let catalogue: GalleryCatalogue

    /// - Parameters:
    ///   - cache: what is shown.
    ///   - manifests: what gives icons their names, and what says which are missing. Those at URLs
    ///     are read as the cache has them. Default: none.
    ///   - rules: how manifests are read. Default: as their content tells.
    ///   - hasOthers: whether icons that no manifest names are shown, too. Default: true.
    public init(
        of cache: Cache, manifests: [ManifestSource] = [], rules: ManifestRules = .init(),
        hasOthers: Bool = true
    ) {
        catalogue = GalleryCatalogue(
            cache: cache, manifests: manifests, rules: rules, hasOthers: hasOthers)
    }

    /// Writes the icons, a thousand at a time, and then what describes them: who reads the
    /// description finds what it names.
    ///
    /// Written again, the files are the same unless an icon is not.
    ///
    /// - Parameters:
    ///   - isNamedByContent: whether a digest of its bytes is in the name of each file of icons:
    ///     what has such a name never changes. Default: false.
    ///   - onOmission: is told of what is not shown; what it throws ends the writing. Default:
    ///     nobody looks.
    ///   - onIcon: is told of each icon that is shown; what it throws ends the writing. Default:
    ///     nobody looks.
    /// - Returns: how many icons there are of each state, as far as they are shown.
    /// - Throws: `ManifestError`, `CacheError`, or what the place or a closure throws.
    @discardableResult
    public func write(
        to place: some GalleryPlace, isNamedByContent: Bool = false,
        onOmission: (GalleryOmission) throws -> Void = { _ in },
        onIcon: (GalleryIcon) throws -> Void = { _ in }
    ) throws -> GalleryReport {
        var report = GalleryReport()
        var icons: [JSONObject] = []
        var files: [String] = []
        func flush() throws {
            guard !icons.isEmpty else { return }
            let rows = icons.map(\.text).joined(separator: ",\n")
            let text = "larder.add(\(files.count), [\n\(rows)\n])"
            let digest = isNamedByContent ? "-\(Digest(of: Array("\(text)\n".utf8)).hex)" : ""
            let path = "gallery/icons\(digest)-\(files.count).js"
            try place.write(script(path, text))
            files.append(path)
            icons.removeAll(keepingCapacity: true)
        }
        var address: String?
        var newest: Date?
        report.total = try catalogue.forEachIcon { object in
            address = try place.address(of: object)
            return address != nil
        } leaveOut: {
            try onOmission($0)
        } _: { icon in
            report.counts[icon.state, default: 0] += 1
            if let date = icon.resource?.receivedAt { newest = max(newest ?? date, date) }
            try onIcon(icon)
            icons.append(icon.json(address))
            address = nil
            if icons.count == Self.iconsPerFile { try flush() }
        }
        try flush()
        var description = JSONObject()
        description.set("version", Self.format)
        description.set("received", newest?.timeIntervalSince1970)
        description.set("objects", place.objects)
        description.set("files", files)
        description.set("shown", report.shown)
        description.set("total", report.total)
        description.set("manifests", catalogue.manifests.map(\.name.lastPathComponent))
        try place.write(script(GalleryFile.catalogue, "larder.begin(\(description.text))"))
        return report
    }

    /// The version of what the page's script reads.
    private static let format = 1

    private func script(_ path: String, _ text: String) -> GalleryFile {
        GalleryFile(path: path, mediaType: GalleryFile.script, bytes: Array((text + "\n").utf8))
    }
}

extension GalleryIcon {
    fileprivate func json(_ address: String?) -> JSONObject {
        var json = JSONObject()
        json.set("name", name)
        if let url { json.set("url", url) }
        if let host { json.set("host", host) }
        if let manifest { json.set("manifest", manifest) }
        json.set("state", state.rawValue)
        if let note { json.set("note", note) }
        guard let resource else { return json }
        if let address { json.set("image", address) }
        json.set("digest", resource.object.digest.hex)
        json.set("size", resource.object.size)
        if let type = resource.object.mediaType { json.set("type", type) }
        if let width = resource.object.width { json.set("width", width) }
        if let height = resource.object.height { json.set("height", height) }
        json.set("received", resource.receivedAt.timeIntervalSince1970)
        json.set("fresh", resource.freshUntil.timeIntervalSince1970)
        return json
    }
}

extension String {
    fileprivate var lastPathComponent: String {
        utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? self
    }
}
