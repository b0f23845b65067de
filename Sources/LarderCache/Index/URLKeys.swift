import Foundation
import GRDB
import LarderCore

/// Keys of URLs in indexes of earlier versions. They have libcurl's spelling, which does not encode
/// characters such as `|`, and the manifest's escapes.
enum URLKeys {
    /// The maximum number of rows to read at once.
    private static let pageLimit = 500
    /// An SQL condition for keys that may differ from today's. All other keys have only characters
    /// that no version encodes.
    private static let mayDiffer = #"key GLOB 'http*' AND key GLOB '*[]"%<>[\^`{|}'']*'"#

    /// Returns today's key and URL for a key; nil if the key does not change, or is not a URL's.
    ///
    /// A backslash stays a character, because it was sent as one. In a manifest it is a slash now.
    static func renewed(_ key: String) -> (key: String, url: String)? {
        guard let url = try? HTTPURL(key.percentEncoding { $0 != UInt8(ascii: "\\") }),
            !url.key.isSame(as: key)
        else { return nil }
        return (url.key, url.string)
    }

    /// Gives all rows today's keys. A row keeps its key if another row has the new one.
    static func renew(_ db: Database) throws {
        for table in ["resources", "failures"] {
            let update = try PreparedStatement(
                db, "UPDATE OR IGNORE \(table) SET key = ?, url = coalesce(url, ?) WHERE key = ?")
            try forEach(in: table, db) { old, new in
                try update.run(new.key, new.url.isSame(as: new.key) ? nil : new.url, old)
            }
        }
        let update = try PreparedStatement(db, "UPDATE OR IGNORE pins SET key = ? WHERE key = ?")
        try forEach(in: "pins", db) { old, new in try update.run(new.key, old) }
    }

    /// Calls `body` with the keys of a table that differ from today's, in their order.
    static func forEach(
        in table: String, _ db: Database,
        _ body: (String, (key: String, url: String)) throws -> Void
    ) throws {
        let select = try PreparedStatement(
            db,
            """
            SELECT key FROM \(table) WHERE key > ? AND \(mayDiffer)
            ORDER BY key LIMIT \(pageLimit)
            """)
        var last = ""
        while true {
            let page = try select.rows(last) { try $0.requireText(0) }
            guard let end = page.last else { return }
            last = end
            for key in page {
                if let new = renewed(key) { try body(key, new) }
            }
        }
    }
}

/// The keys of an index that an earlier version wrote and that cannot be changed, by today's keys.
final class FormerKeys: @unchecked Sendable {
    // Unchecked because the compiler cannot see that `lock` is held at every access to `keys`.

    /// The maximum size of all keys in memory, in bytes. The remaining URLs are found by their old
    /// keys only.
    private static let sizeLimit = 16 << 20

    private let lock = NSLock()
    private var keys: [String: String]?

    /// Returns the index's key for one of today's; nil if there is no other.
    func key(_ key: String, in db: Database) throws -> String? {
        try lock.withLock {
            if let keys { return keys[key] }
            var found: [String: String] = [:]
            var size = 0
            try URLKeys.forEach(in: "resources", db) { old, new in
                size += old.utf8.count + new.key.utf8.count
                if size <= Self.sizeLimit { found[new.key] = old }
            }
            keys = found
            return found[key]
        }
    }
}

extension CacheIndex {
    /// Lists today's keys of URLs whose rows have a key of an earlier version, in the table
    /// `former_keys` of a scratch database that is joined with this index.
    ///
    /// - Returns: Whether there is such a table. An index that can be written has today's keys.
    func listFormerKeys(in db: Database) throws -> Bool {
        guard formerKeys != nil else { return false }
        try db.execute(
            sql: "CREATE TABLE main.former_keys (key TEXT PRIMARY KEY, former TEXT) WITHOUT ROWID")
        let insert = try PreparedStatement(
            db,
            """
            INSERT OR IGNORE INTO former_keys SELECT ?1, ?2
            WHERE NOT EXISTS (SELECT 1 FROM cache.resources WHERE key = ?1)
            """)
        for table in ["cache.resources", "cache.failures"] {
            try URLKeys.forEach(in: table, db) { old, new in try insert.run(new.key, old) }
        }
        return true
    }
}
