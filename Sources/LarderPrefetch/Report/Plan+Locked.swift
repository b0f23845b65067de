import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest

extension Plan {
    static func lockedEntry(
        name: String, icon: String, key: String?, priority: Int, digest: Digest, size: Int64
    ) -> String {
        var object = JSONObject()
        if !name.isEmpty { object.set("name", exactly: name) }
        object.set("icon", exactly: icon)
        if let key { object.set("key", exactly: key) }
        let level = PriorityName.allCases.first { $0.value == priority }
        if level == nil { object.set("priority", priority) }
        if let level, level != .normal { object.set("priority", level.rawValue) }
        object.set("integrity", "sha256-" + Data(digest.bytes).base64EncodedString())
        object.set("size", size)
        return object.text
    }

    func note(locked results: [EntryResult]) throws {
        try database.write { db in
            let insert = try db.prepared("INSERT INTO locked VALUES (?, ?, ?, ?)")
            for result in results {
                guard let digest = result.digest, let bytes = result.bytes else { continue }
                try insert.run(result.entry.id, digest, bytes, result.attributes.mediaType)
            }
        }
    }

    /// Calls `body` with each entry, unless its icon, name and spelling repeat an earlier entry's.
    func forEachLocked(_ body: (String) throws -> Void) throws {
        // CROSS JOIN keeps this order of tables, to avoid a sort that copies all inline icons.
        let entries = """
            locked l CROSS JOIN entries e ON e.id = l.entry
                JOIN entries f ON f.id = coalesce(e.leader, e.id)
                LEFT JOIN main.spellings s
                    ON s.entry = iif(f.key GLOB 'key:*' AND e.url IS NOT f.url, f.id, e.id)
            """
        let url = "coalesce(s.text, iif(f.key GLOB 'key:*', f.url, e.url), f.key)"
        let first = "SELECT min(l.entry) FROM \(entries) GROUP BY f.id, e.name, \(url)"
        let select = """
            SELECT e.name, f.key, f.priority, l.digest, l.size, l.media_type, i.bytes, \(url)
            FROM \(entries) LEFT JOIN inline i ON i.fetch = f.id
            \(hasFollowers ? "WHERE l.entry IN (\(first))" : "") ORDER BY l.entry
            """
        try read(select) { rows in
            try rows.forEach { row in
                let (name, key, priority) = (row.text(), try row.requireText(), row.integer())
                let (digest, size) = (try row.requireDigest(), row.integer())
                let mediaType = row.text() ?? "application/octet-stream"
                let inline = row.data().map {
                    "data:\(mediaType);base64,\($0.base64EncodedString())"
                }
                let url = try row.requireText()
                try body(
                    Self.lockedEntry(
                        name: name ?? "", icon: inline ?? url, key: ResourceKey.name(in: key),
                        priority: Int(priority), digest: digest, size: size))
            }
        }
    }
}
