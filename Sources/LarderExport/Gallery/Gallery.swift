import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest

/// A web page with icons. Its data are scripts, because a page on disk cannot load JSON.
package struct Gallery {
    private static let iconsPerFile = 1000
    private static let format = 1

    let cache: Cache
    let manifests: [ManifestSource]
    let rules: ManifestRules
    let hasOthers: Bool

    /// Manifests add names and missing icons. `hasOthers` adds icons that are in no manifest.
    package init(
        of cache: Cache, manifests: [ManifestSource] = [], rules: ManifestRules = .init(),
        hasOthers: Bool = true
    ) {
        self.cache = cache
        self.manifests = manifests
        self.rules = rules
        self.hasOthers = hasOthers
    }

    /// Writes files of icons, then the description, which lists them. The output is deterministic.
    @discardableResult
    package func write(
        to place: some GalleryPlace, isNamedByContent: Bool = false,
        onItem: (GalleryItem) throws -> Void = { _ in }
    ) throws -> GalleryReport {
        var report = GalleryReport()
        var icons: [String] = []
        var files: [String] = []
        func flush() throws {
            guard !icons.isEmpty else { return }
            let text = "larder.add(\(files.count), [\n\(icons.joined(separator: ",\n"))\n])"
            let digest = isNamedByContent ? "-\(Digest(of: Array("\(text)\n".utf8)).hex)" : ""
            let path = "gallery/icons\(digest)-\(files.count).js"
            try place.write(.file(path, script: text))
            files.append(path)
            icons.removeAll(keepingCapacity: true)
        }
        var newest: Date?
        do {
            report.total = try forEachItem(address: place.address) { item in
                try onItem(item)
                guard let icon = item.icon else { return }
                report.shown += 1
                if let date = item.resource?.receivedAt { newest = max(newest ?? date, date) }
                icons.append(icon)
                if icons.count == Self.iconsPerFile { try flush() }
            }
        } catch let error as DatabaseError {
            throw CacheError(index: "a temporary database", error)
        }
        try flush()
        let names = manifests.map(\.name).map { name in
            name.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? name
        }
        let description: JSONObject = [
            "version": Self.format, "received": newest?.timeIntervalSince1970,
            "objects": place.objects, "files": files, "shown": report.shown,
            "total": report.total, "manifests": names,
        ]
        try place.write(.file(GalleryFile.catalogue, script: "larder.begin(\(description.text))"))
        return report
    }
}

package struct GalleryFile: Sendable {
    package let path: String
    package let mediaType: String
    package let bytes: [UInt8]

    package static let page: [GalleryFile] = [
        GalleryFile(
            path: "index.html", mediaType: "text/html; charset=utf-8",
            bytes: PackageResources.index_html),
        GalleryFile(
            path: "gallery/gallery.css", mediaType: "text/css; charset=utf-8",
            bytes: PackageResources.gallery_css),
        GalleryFile(
            path: "gallery/gallery.js", mediaType: script, bytes: PackageResources.gallery_js),
    ]

    package static let script = "text/javascript; charset=utf-8"

    package static let catalogue = "gallery/icons.js"

    /// Makes the page request the description again.
    package static let notYet = file(catalogue, script: "larder.later()")

    package static func description(ofProblem message: String) -> GalleryFile {
        let description: JSONObject = ["problem": message]
        return file(catalogue, script: "larder.begin(\(description.text))")
    }

    fileprivate static func file(_ path: String, script text: String) -> GalleryFile {
        GalleryFile(path: path, mediaType: script, bytes: Array((text + "\n").utf8))
    }
}

package struct GalleryReport: Sendable {
    package internal(set) var total = 0
    package internal(set) var shown = 0
}

package protocol GalleryPlace {
    /// The common prefix of objects' addresses, relative to the page.
    var objects: String { get }

    /// Returns an object's address without the prefix, or nil if the object is damaged.
    func address(of object: StoredObject) throws -> String?

    func write(_ file: GalleryFile) throws
}
