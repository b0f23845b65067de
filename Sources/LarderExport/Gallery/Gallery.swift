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
        (self.cache, self.manifests, self.rules) = (cache, manifests, rules)
        self.hasOthers = hasOthers
    }

    /// Writes files of icons, then the description, which lists them. The output is deterministic.
    @discardableResult
    package func write(
        to place: some GalleryPlace, isNamedByContent: Bool = false,
        onItem: (GalleryItem) throws -> Void = { _ in }
    ) throws -> (total: Int, shown: Int) {
        var report = (total: 0, shown: 0)
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
        report.total = try CacheError.naming("a temporary database") {
            try forEachItem(address: place.address) { item in
                try onItem(item)
                guard let icon = item.icon else { return }
                report.shown += 1
                if let date = item.resource?.receivedAt { newest = max(newest ?? date, date) }
                icons.append(icon)
                if icons.count == Self.iconsPerFile { try flush() }
            }
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

    private func forEachItem(
        address: (StoredObject) throws -> String?, _ body: (GalleryItem) throws -> Void
    ) throws -> Int {
        var count = 0
        // Digests of the manifests' resource keys, so that these resources are not shown again.
        let named =
            hasOthers && !manifests.isEmpty
            ? try DatabaseQueue.scratch("CREATE TABLE keys (digest BLOB PRIMARY KEY) WITHOUT ROWID")
            : nil
        func leaveOut(_ code: ExportCode, name: String? = nil, _ reason: String) throws {
            let failure = ExportFailure(code, name: name ?? "", reason)
            try body(GalleryItem(icon: nil, failure: failure, resource: nil))
        }
        func show(_ icon: @autoclosure () throws -> GalleryItem) throws {
            count += 1
            if count <= GalleryLimits.icons { return try body(icon()) }
            try leaveOut(.notShown, "a gallery shows at most \(GalleryLimits.icons) icons")
        }
        try cache.forEachItem(of: manifests, rules, unless: { false }) { number, item in
            switch item.result {
            case .skipped(let reason): return try leaveOut(.noIcon, name: item.name, reason)
            case .unfetched: return try leaveOut(.noURL, name: item.name, item.value?.reason ?? "")
            case .entry, .inline, .failed: break
            }
            var resource: Resource?
            if let key = item.resourceKey {
                resource = try cache.resource(key)
                if count < GalleryLimits.icons || resource != nil {
                    try named?.run("INSERT OR IGNORE INTO keys VALUES (?)", for: [key]) {
                        [Digest(of: Array($0.utf8))]
                    }
                }
            }
            try show(icon(of: item, in: number, resource, address: address))
        }
        guard hasOthers else { return count }
        try cache.forEachResource { resource in
            let digest = Digest(of: Array(resource.key.utf8))
            if try named?.hasRow("SELECT 1 FROM keys WHERE digest = ?", digest) == true { return }
            try show(icon(of: resource, nil, resource.shownURL, nil, address: address))
        }
        return count
    }

    private func icon(
        of item: ManifestItem, in manifest: Int, _ resource: Resource?,
        address: (StoredObject) throws -> String?
    ) throws -> GalleryItem {
        let url = item.shownURL
        func absent(
            _ state: GalleryState, _ code: ExportCode, _ note: String, failedAt: Date? = nil
        ) -> GalleryItem {
            GalleryItem(item.name, url, manifest, state, note: note, code: code, failedAt: failedAt)
        }
        if case .failed(let error) = item.result {
            return absent(.failed, .badEntry, error.message)
        }
        if let resource {
            if let (code, message) = item.result.expectation.failure(of: resource.object) {
                return absent(.missing, code, message)
            }
            return try icon(of: resource, item.name, url, manifest, address: address)
        }
        if let failure = try cache.failures([item.resourceKey ?? ""])[0] {
            return absent(.failed, .missing, failure.reason, failedAt: failure.failedAt)
        }
        return absent(.missing, .missing, "the icon is not in the cache")
    }

    private func icon(
        of resource: Resource, _ name: String?, _ url: String?, _ manifest: Int?,
        address: (StoredObject) throws -> String?
    ) throws -> GalleryItem {
        guard let address = try address(resource.object) else {
            let damage =
                "the file is missing or damaged; run larder verify --repair with the same --cache"
            return GalleryItem(
                name, url, manifest, .corrupt, note: damage, code: .corrupt, resource: resource)
        }
        return GalleryItem(
            name, url, manifest, resource.isFresh() ? .fresh : .stale, resource: resource,
            address: address)
    }
}

package struct GalleryItem: Sendable {
    let icon: String?
    let failure: ExportFailure?
    let resource: Resource?
}

extension GalleryItem {
    /// Creates an icon. The default name is the last component of `url`, whose secrets are masked.
    init(
        _ name: String?, _ url: String?, _ manifest: Int?, _ state: GalleryState,
        note: String? = nil, code: ExportCode? = nil, failedAt: Date? = nil,
        resource: Resource? = nil, address: String? = nil
    ) {
        let limit = GalleryLimits.nameBytes
        let name = name.flatMap { $0.isEmpty ? nil : $0 } ?? Self.name(in: url) ?? "unnamed"
        let (shownName, shownURL) = (name.cut(to: limit), url?.cut(to: GalleryLimits.urlBytes))
        let note = note?.cut(to: limit)
        var json = JSONObject()
        json.set("name", shownName)
        if let shownURL { json.set("url", shownURL) }
        if let host = url?.hostAndPort { json.set("host", host.cut(to: limit)) }
        if let manifest { json.set("manifest", manifest) }
        json.set("state", state.rawValue)
        if let note { json.set("note", note) }
        if let failedAt { json.set("failed", failedAt.timeIntervalSince1970) }
        if let address { json.set("image", address) }
        if let resource {
            let object = resource.object
            json.set("digest", object.digest.hex)
            json.set("size", object.size)
            if let type = object.mediaType { json.set("type", type) }
            if let width = object.width { json.set("width", width) }
            if let height = object.height { json.set("height", height) }
            json.set("received", resource.receivedAt.timeIntervalSince1970)
            json.set("fresh", resource.freshUntil.timeIntervalSince1970)
        }
        self.init(
            icon: json.text,
            failure: code.map { ExportFailure($0, name: shownName, url: shownURL, note ?? "") },
            resource: resource)
    }

    private static func name(in url: String?) -> String? {
        guard let url else { return nil }
        let path = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard let last = path.split(separator: UInt8(ascii: "/")).last, let text = String(last)
        else { return nil }
        return text.removingPercentEncoding ?? text
    }
}

/// The limits of a gallery. Browsers keep the whole gallery in memory.
package enum GalleryLimits {
    package static let icons = 100_000
    package static let nameBytes = 256
    package static let urlBytes = 2048
}

extension String {
    fileprivate func cut(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while String.Index(end, within: unicodeScalars) == nil { end = utf8.index(before: end) }
        return self[..<end] + "…"
    }
}

enum GalleryState: String { case fresh, stale, missing, failed, corrupt }

package struct GalleryFile: Sendable {
    package let path: String
    package let mediaType: String
    package let bytes: [UInt8]

    package static let page: [GalleryFile] = [
        ("index.html", "text/html; charset=utf-8", PackageResources.index_html),
        ("gallery/gallery.css", "text/css; charset=utf-8", PackageResources.gallery_css),
        ("gallery/gallery.js", script, PackageResources.gallery_js),
    ].map { GalleryFile(path: $0, mediaType: $1, bytes: $2) }

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

package protocol GalleryPlace {
    var objects: String { get }

    func address(of object: StoredObject) throws -> String?

    func write(_ file: GalleryFile) throws
}
