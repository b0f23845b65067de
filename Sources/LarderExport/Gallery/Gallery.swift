import Foundation
import LarderCache
import LarderCore
import LarderManifest

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

/// A file of a gallery.
public struct GalleryFile: Sendable {
    /// Its path relative to the page's.
    public let path: String
    /// Its media type.
    public let mediaType: String
    /// Its bytes.
    public let bytes: [UInt8]

    /// The same for every cache: the page, its style and its script.
    public static let page: [GalleryFile] = [
        GalleryFile(
            path: "index.html", mediaType: "text/html; charset=utf-8",
            bytes: PackageResources.index_html),
        GalleryFile(
            path: "gallery/gallery.css", mediaType: "text/css; charset=utf-8",
            bytes: PackageResources.gallery_css),
        GalleryFile(
            path: "gallery/gallery.js", mediaType: script, bytes: PackageResources.gallery_js),
    ]

    /// The media type of scripts.
    public static let script = "text/javascript; charset=utf-8"

    /// The description of all icons.
    public static let catalogue = "gallery/icons.js"

    /// What is sent in its place while it is made: the page asks again.
    public static let notYet = GalleryFile(
        path: catalogue, mediaType: script, bytes: Array("larder.later()\n".utf8))

    /// What is sent in its place if it cannot be made; the page shows the message.
    public static func description(ofProblem message: String) -> GalleryFile {
        var description = JSONObject()
        description.set("problem", message)
        return GalleryFile(
            path: catalogue, mediaType: script,
            bytes: Array("larder.begin(\(description.text))\n".utf8))
    }

    /// Whether a file beside it could be a part of it, without a digest in its name.
    public static func isPart(_ name: String) -> Bool {
        let (start, end) = ("icons-".utf8, ".js".utf8)
        let text = name.utf8
        guard text.starts(with: start), text.suffix(end.count).elementsEqual(end) else {
            return false
        }
        let number = text.dropFirst(start.count).dropLast(end.count)
        return !number.isEmpty && number.allSatisfy { 0x30...0x39 ~= $0 }
    }
}

/// What a gallery shows.
public struct GalleryReport: Sendable {
    /// How many icons there are, also if they are more than are shown.
    public internal(set) var total = 0
    /// How many of each state are shown.
    public internal(set) var counts: [GalleryState: Int] = [:]

    /// How many are shown.
    public var shown: Int { counts.values.reduce(0, +) }
}

/// Where a gallery is written to: a directory, or the memory of a server.
public protocol GalleryPlace {
    /// What the addresses of all objects begin with, relative to the page.
    var objects: String { get }

    /// The rest of an object's address; nil if its bytes are not those of its digest.
    func address(of object: StoredObject) throws -> String?

    /// Takes a file with a path relative to the page's.
    func write(_ file: GalleryFile) throws
}
