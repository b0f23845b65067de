import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest

/// An entry of a lock file: an icon, and the digest and size that its bytes must have.
public struct LockedEntry: Sendable, Equatable {
    /// The app's name, or an empty string. Untrusted text.
    public let name: String
    /// The icon's absolute URL as the manifest spells it, without credentials, or a `data:` URL.
    public let icon: String
    /// The resource's identity, if that is not the URL.
    public let key: String?
    /// The highest priority of all entries of the resource. A higher priority is fetched first.
    public let priority: Int
    /// The digest of the icon.
    public let digest: Digest
    /// The size of the icon in bytes.
    public let size: Int64

    /// The entry as a manifest's JSON object on one line. Terminal control characters are escaped.
    public var json: String {
        var object = JSONObject()
        if !name.isEmpty { object.set("name", exactly: name) }
        object.set("icon", exactly: icon)
        if let key { object.set("key", exactly: key) }
        switch PriorityName(of: priority) {
        case .normal: break
        case let name?: object.set("priority", name.rawValue)
        case nil: object.set("priority", priority)
        }
        object.set("integrity", "sha256-" + Data(digest.bytes).base64EncodedString())
        object.set("size", size)
        return object.text
    }
}

extension Plan {
    func note(locked results: [EntryResult]) throws {
        try database.write { db in
            let insert = try PreparedStatement(
                db, "INSERT INTO locked (entry, digest, size, media_type) VALUES (?, ?, ?, ?)")
            for result in results {
                guard let digest = result.digest, let bytes = result.bytes else { continue }
                try insert.run(result.id, digest, bytes, result.attributes.mediaType)
            }
        }
    }

    /// Calls `body` with the recorded entries in the order of the manifests.
    func forEachLocked(_ body: (LockedEntry) throws -> Void) throws {
        try forEachPage { (page: [Row]) in
            for row in page {
                if let entry = try locked(row) { try body(entry) }
            }
        } reading: { db, last in
            try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT e.id AS entry, e.name, f.key, f.priority, l.digest, l.size,
                            l.media_type, i.fetch AS inline, s.text AS spelling,
                            iif(f.key GLOB 'key:*', f.url, e.url) AS url
                        FROM locked l JOIN entries e ON e.id = l.entry
                            JOIN entries f ON f.id = coalesce(e.leader, e.id)
                            LEFT JOIN inline i ON i.fetch = f.id
                            LEFT JOIN main.spellings s
                                ON s.entry = iif(f.key GLOB 'key:*' AND e.url IS NOT f.url,
                                    f.id, e.id)
                        WHERE l.entry > ? ORDER BY l.entry LIMIT \(Self.pageLimit)
                        """), arguments: [last?["entry"] as Int64? ?? 0])
        }
    }

    private func locked(_ row: Row) throws -> LockedEntry? {
        guard let digest = Digest(bytes: row["digest"] as Data) else { return nil }
        let key: String = row["key"]
        var url: String? = row["url"]
        if let fetch = row["inline"] as Int64? {
            // Inline icons can be large, so read one at a time.
            let bytes: Data = try database.unsafeRead { db in
                try Data.fetchOne(
                    db.cachedStatement(sql: "SELECT bytes FROM inline WHERE fetch = ?"),
                    arguments: [fetch]) ?? Data()
            }
            let mediaType: String = row["media_type"] ?? "application/octet-stream"
            url = "data:\(mediaType);base64,\(bytes.base64EncodedString())"
        }
        return LockedEntry(
            // Apps look icons up by the spelling of the manifest.
            name: row["name"] ?? "", icon: row["spelling"] ?? url ?? key,
            key: ResourceKey.name(in: key),
            priority: row["priority"], digest: digest, size: row["size"])
    }
}
