import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest

extension Gallery {
    private static let batch = 500
    private static let batchBytes = 1 << 20

    /// Calls `body` with the icons of manifests, then with other cached icons, and counts them.
    func forEachItem(
        address: (StoredObject) throws -> String?, _ body: (GalleryItem) throws -> Void
    ) throws -> Int {
        var count = 0
        // Digests of the keys of manifests' icons, which are not shown twice.
        let named =
            hasOthers && !manifests.isEmpty
            ? try DatabaseQueue.scratch("CREATE TABLE keys (digest BLOB PRIMARY KEY) WITHOUT ROWID")
            : nil
        let excess = ExportFailure(
            .notShown, "a gallery shows at most \(GalleryLimits.icons) icons")
        func show(_ icon: @autoclosure () throws -> GalleryItem) throws {
            count += 1
            try body(count <= GalleryLimits.icons ? icon() : GalleryItem(notShown: excess))
        }
        for (number, source) in manifests.enumerated() {
            var waiting: [(item: ManifestItem, key: String?)] = []
            var waitingBytes = 0
            func flush() throws {
                // A failed entry has no key. Nothing is found for the empty key.
                let keys = waiting.map { $0.key ?? "" }
                let found: [Found] = try zip(cache.resources(keys), cache.failures(keys))
                    .map { ($0, $1) }
                let listed = zip(waiting, found).compactMap { waiting, found in
                    count < GalleryLimits.icons || found.resource != nil ? waiting.key : nil
                }
                try named?.run("INSERT OR IGNORE INTO keys VALUES (?)", for: listed) {
                    [Digest(of: Array($0.utf8))]
                }
                for ((item, _), found) in zip(waiting, found) {
                    try show(icon(of: item, in: number, found, address: address))
                }
                waiting.removeAll(keepingCapacity: true)
                waitingBytes = 0
            }
            let reader = ManifestReader(
                source: source.cached { [cache] in try cache.manifest($0)?.file }, rules: rules)
            let summary = try reader.read { item in
                func skip(_ code: ExportCode, _ reason: String) throws {
                    let failure = ExportFailure(code, name: item.name ?? "", reason)
                    try body(GalleryItem(notShown: failure))
                }
                switch item.result {
                case .skipped(let reason): return try skip(.noIcon, reason)
                case .unfetched: return try skip(.noURL, item.value?.reason ?? "")
                case .entry, .inline, .failed: break
                }
                let key = item.resourceKey
                waiting.append((item, key))
                waitingBytes += key?.utf8.count ?? 0
                if case .inline(let entry) = item.result { waitingBytes += entry.bytes.count }
                if waiting.count == Self.batch || waitingBytes > Self.batchBytes { try flush() }
            }
            if let refusal = summary.refusal(of: source) { throw refusal }
            try flush()
        }
        guard hasOthers else { return count }
        try cache.forEachResource { resource in
            let digest = Digest(of: Array(resource.key.utf8))
            if try named?.hasRow("SELECT 1 FROM keys WHERE digest = ?", digest) == true { return }
            try show(icon(of: resource, nil, resource.shownURL, nil, address: address))
        }
        return count
    }

    private typealias Found = (resource: Resource?, failure: PastFailure?)

    private func icon(
        of item: ManifestItem, in manifest: Int, _ found: Found,
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
        if let resource = found.resource {
            if let (code, message) = item.result.expectation.failure(of: resource.object) {
                return absent(.missing, code, message)
            }
            return try icon(of: resource, item.name, url, manifest, address: address)
        }
        if let failure = found.failure {
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
    /// The description for the page; nil if the icon is not shown.
    let icon: String?
    let failure: ExportFailure?
    let resource: Resource?

    init(notShown failure: ExportFailure) {
        (icon, self.failure, resource) = (nil, failure, nil)
    }

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
        icon = json.text
        failure = code.map { ExportFailure($0, name: shownName, url: shownURL, note ?? "") }
        self.resource = resource
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
    /// Truncates the text to `limit` bytes without splitting a scalar, and adds an ellipsis.
    fileprivate func cut(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while String.Index(end, within: unicodeScalars) == nil { end = utf8.index(before: end) }
        return self[..<end] + "…"
    }
}

enum GalleryState: String {
    case fresh, stale, missing, failed, corrupt
}
