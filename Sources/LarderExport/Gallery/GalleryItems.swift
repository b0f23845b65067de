import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest

extension Gallery {
    private static let batch = 500
    private static let batchBytes = 1 << 20

    /// Calls `body` with the icons of manifests in order, then with other cached icons. Returns
    /// their number.
    func forEachItem(
        isIntact: (StoredObject) throws -> Bool, _ body: (GalleryItem) throws -> Void
    ) throws -> Int {
        var count = 0
        // Digests of the keys of manifests' icons, which are not shown twice. Leaves out missing
        // icons beyond the limit.
        let named =
            hasOthers && !manifests.isEmpty
            ? try DatabaseQueue.scratch("CREATE TABLE keys (digest BLOB PRIMARY KEY) WITHOUT ROWID")
            : nil
        func show(_ icon: @autoclosure () throws -> GalleryIcon) throws {
            count += 1
            try body(count <= GalleryLimits.icons ? .icon(icon()) : .excess)
        }
        for (number, source) in manifests.enumerated() {
            var waiting: [(item: ManifestItem, key: String?)] = []
            var waitingBytes = 0
            func flush() throws {
                // A failed entry has no key, so nothing is found for it.
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
                    try show(icon(of: item, in: number, found, isIntact: isIntact))
                }
                waiting.removeAll(keepingCapacity: true)
                waitingBytes = 0
            }
            let reader = ManifestReader(
                source: source.cached { [cache] in try cache.manifest($0)?.file }, rules: rules)
            let summary = try reader.read { item in
                func skip(_ code: ExportCode, _ reason: String) throws {
                    try body(.withoutIcon(ExportFailure(code, name: item.name ?? "", reason)))
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
            try show(icon(of: resource, url: resource.shownURL, isIntact: isIntact))
        }
        return count
    }

    private typealias Found = (resource: Resource?, failure: PastFailure?)

    private func icon(
        of item: ManifestItem, in manifest: Int, _ found: Found,
        isIntact: (StoredObject) throws -> Bool
    ) throws -> GalleryIcon {
        let url = item.shownURL
        func absent(
            _ state: GalleryState, _ code: ExportCode, _ note: String, failedAt: Date? = nil
        ) -> GalleryIcon {
            GalleryIcon(
                name: item.name, url: url, manifest: manifest, resource: nil, state: state,
                note: note, code: code, failedAt: failedAt)
        }
        if case .failed(let error) = item.result {
            return absent(.failed, .badEntry, error.message)
        }
        if let object = found.resource?.object,
            let mismatch = item.result.expectation.mismatch(
                digest: object.digest, size: object.size)
        {
            return absent(
                .missing, ExportCode(rawValue: mismatch.code) ?? .missing,
                "the cache has different bytes: \(mismatch.message)")
        }
        if let resource = found.resource {
            return try icon(
                of: resource, name: item.name, url: url, manifest: manifest, isIntact: isIntact)
        }
        if let failure = found.failure {
            return absent(.failed, .missing, failure.reason, failedAt: failure.failedAt)
        }
        return absent(.missing, .missing, "the icon is not in the cache")
    }

    private func icon(
        of resource: Resource, name: String? = nil, url: String?, manifest: Int? = nil,
        isIntact: (StoredObject) throws -> Bool
    ) throws -> GalleryIcon {
        let isWhole = try isIntact(resource.object)
        let damage =
            "the file is missing or damaged; run larder verify --repair with the same --cache"
        return GalleryIcon(
            name: name, url: url, manifest: manifest, resource: resource,
            state: !isWhole ? .corrupt : resource.isFresh() ? .fresh : .stale,
            note: isWhole ? nil : damage, code: isWhole ? nil : .corrupt)
    }
}

package struct GalleryIcon: Sendable {
    /// The app's name, or the last component of the URL's path. Untrusted, at most
    /// ``GalleryLimits/nameBytes`` long.
    let name: String
    /// The URL with masked secrets, at most ``GalleryLimits/urlBytes`` long; nil for inline icons
    /// and bad entries.
    let url: String?
    let host: String?
    let manifest: Int?
    let resource: Resource?
    let state: GalleryState
    let note: String?
    let code: ExportCode?
    let failedAt: Date?

    init(
        name: String?, url: String?, manifest: Int?, resource: Resource?, state: GalleryState,
        note: String?, code: ExportCode?, failedAt: Date? = nil
    ) {
        let name = name.flatMap { $0.isEmpty ? nil : $0 } ?? Self.name(in: url) ?? "unnamed"
        self.name = name.cut(to: GalleryLimits.nameBytes)
        self.url = url?.cut(to: GalleryLimits.urlBytes)
        host = url?.hostAndPort?.cut(to: GalleryLimits.nameBytes)
        self.manifest = manifest
        self.resource = resource
        self.state = state
        self.code = code
        self.failedAt = failedAt
        self.note = note?.cut(to: GalleryLimits.nameBytes)
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

package enum GalleryState: String, Sendable {
    case fresh, stale, missing, failed, corrupt
}

package enum GalleryItem: Sendable {
    case icon(GalleryIcon)
    case withoutIcon(ExportFailure)
    case excess
}
