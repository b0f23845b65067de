import GRDB
import LarderCore

/// The migration of URL keys from earlier versions. These keys have libcurl's spelling: characters
/// such as `|` are not encoded, backslashes and escapes are kept, and an empty query is dropped.
enum URLKeys {
    private static let mayDiffer = #"key GLOB 'http*' AND key GLOB '*[]"%<>[\^`{|}'']*'"#

    /// Renews the keys of all rows. A row keeps its key if another row has the new key. A resource
    /// is copied for each of its spellings whose new key differs.
    static func renew(_ db: Database) throws {
        for table in ["resources", "failures"] {
            let update = try db.prepared(
                "UPDATE OR IGNORE \(table) SET key = ?, url = coalesce(url, ?) WHERE key = ?")
            try forEach(in: table, db) { _, old, new in
                try update.run(new.key, new.string.isSame(as: new.key) ? nil : new.string, old)
            }
        }
        let update = try db.prepared("UPDATE OR IGNORE pins SET key = ? WHERE key = ?")
        try forEach(in: "pins", db) { _, old, new in try update.run(new.key, old) }
        let copied =
            "object, etag, last_modified, date, age, cache_control, expires, received_at,"
            + " fresh_until, vary, variant, response_url"
        let copy = try db.prepared(
            """
            INSERT OR IGNORE INTO resources (key, url, \(copied))
            SELECT ?, ?, \(copied) FROM resources WHERE key = ?
            """)
        let copyPin = try db.prepared(
            "INSERT OR IGNORE INTO pins SELECT ?, pinned_at FROM pins WHERE key = ?")
        let move = try db.prepared(
            """
            UPDATE spellings SET resource = (SELECT id FROM resources WHERE key = ?) WHERE text = ?
            """)
        try forEach(in: "spellings", db) { text, old, new in
            try copy.run(new.key, new.string.isSame(as: new.key) ? nil : new.string, old)
            try copyPin.run(new.key, old)
            try move.run(new.key, text)
        }
    }

    /// Calls `body` with each key in `table` that this version would write differently. For
    /// `spellings`, calls it with each URL whose key would differ from its resource's key.
    static func forEach(
        in table: String, of schema: String = "main", _ db: Database,
        _ body: (_ text: String, _ old: String, _ new: HTTPURL) throws -> Void
    ) throws {
        let rows =
            table == "spellings"
            ? """
            s.text, r.key FROM \(schema).spellings s JOIN \(schema).resources r ON r.id = s.resource
            WHERE s.text > ? AND r.key GLOB 'http*' ORDER BY s.text
            """
            : "key, key FROM \(schema).\(table) WHERE key > ? AND \(mayDiffer) ORDER BY key"
        let select = try db.prepared("SELECT \(rows) LIMIT 500")
        var last = ""
        while true {
            let page = try select.rows(last) { (try $0.requireText(), try $0.requireText()) }
            guard let end = page.last else { return }
            last = end.0
            for (text, key) in page {
                guard let new = try? HTTPURL(text), !new.key.isSame(as: key) else { continue }
                try body(text, key, new)
            }
        }
    }
}

extension CacheIndex {
    private static let formerKeysLimit = 16 << 20

    func formerKey(_ key: String, in db: Database) throws -> String? {
        if isMigrated { return nil }
        return try formerKeys.withLock { keys in
            if let keys { return keys[key] }
            var found: [String: String] = [:]
            var size = 0
            for table in ["spellings", "resources"] {
                try URLKeys.forEach(in: table, db) { _, old, new in
                    size += old.utf8.count + new.key.utf8.count
                    if size <= Self.formerKeysLimit { found[new.key] = old }
                }
            }
            keys = found
            return found[key]
        }
    }

    func listFormerKeys(in db: Database) throws -> Bool {
        if isMigrated { return false }
        try db.execute(
            sql: "CREATE TABLE main.former_keys (key TEXT PRIMARY KEY, former TEXT) WITHOUT ROWID")
        let insert = try db.prepared(
            """
            INSERT OR IGNORE INTO former_keys SELECT ?1, ?2
            WHERE NOT EXISTS (SELECT 1 FROM cache.resources WHERE key = ?1)
            """)
        for table in ["resources", "failures", "spellings"] {
            try URLKeys.forEach(in: table, of: "cache", db) { _, old, new in
                try insert.run(new.key, old)
            }
        }
        return true
    }
}

package typealias Spelling = (text: String, key: String)
