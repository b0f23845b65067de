import GRDB
import LarderCore

extension Cache {
    /// Returns the resource with this key, or nil. For a URL, use ``resource(spelledAs:)``.
    public func resource(_ key: String) throws(CacheError) -> Resource? { try index?.resource(key) }

    package func resources(_ keys: [String]) throws(CacheError) -> [Resource?] {
        try index?.resources(keys) ?? keys.map { _ in nil }
    }

    package func object(_ digest: Digest) throws(CacheError) -> StoredObject? {
        try index?.object(digest)
    }

    /// Calls `body` for every resource, ordered by key. Concurrent changes may be missed.
    public func forEachResource(_ body: (Resource) throws -> Void) throws {
        try index?.forEachPage(
            of: Resource.columns, ordered: "r.key",
            from: "resources r JOIN objects o ON o.id = r.object", as: Resource.init, key: \.key
        ) { page in
            for resource in page where resource.isAsNamed { try body(resource) }
        }
    }

    /// Returns the first `limit` keys with the prefix `text` and, if there may be more, the last.
    package func keys(
        beginningWith text: String, limit: Int, arePinned: Bool
    ) throws(CacheError) -> [String] {
        guard let index else { return [] }
        return try index.lookUp { db in
            func keys(_ order: String, _ limit: Int) throws -> [String] {
                try db.prepared(
                    """
                    SELECT key FROM \(arePinned ? "pins" : "resources")
                    WHERE key BETWEEN ? AND ? ORDER BY key \(order) LIMIT ?
                    """
                ).rows(text, text + "\u{10FFFF}", limit) { try $0.requireText() }
            }
            let first = try keys("ASC", limit)
            return try first.count < limit ? first : first + keys("DESC", 1)
        }
    }

    /// Returns the resource whose key is `text`, whose URL in the last prefetched manifest is
    /// `text`, or whose key is the normalized form of the URL `text` (`HTTPURL.key` of LarderCore).
    public func resource(spelledAs text: String) throws(CacheError) -> Resource? {
        guard let index else { return nil }
        if let resource = try index.resource(text) { return resource }
        if let resource = try index.resource(spelledAs: text) { return resource }
        // Keys do not contain credentials, so a URL with credentials could match another user's
        // resource.
        guard let url = try? HTTPURL(text), url.credentials == nil else { return nil }
        return url.key.isSame(as: text) ? nil : try index.resource(url.key)
    }

    /// Returns a number that changes when another connection commits, or nil without an index.
    package func indexVersion() throws(CacheError) -> Int64? {
        guard let index else { return nil }
        return try index.judging {
            try index.writer.unsafeRead { try $0.prepared("PRAGMA data_version").firstInteger() }
        }
    }

    package func forEachSpelling(_ body: (Spelling) throws -> Void) throws {
        try index?.forEachPage(
            of: "s.text, r.key", ordered: "s.text",
            from: "spellings s JOIN resources r ON r.id = s.resource",
            as: { (text: try $0.requireText(), key: try $0.requireText()) }, key: \.text
        ) { try $0.forEach(body) }
    }

    package func record(_ spellings: [Spelling]) throws(CacheError) {
        precondition(spellings.count <= ObjectUse.stepLimit, "too many URLs for one transaction")
        try requireWritable().writeStep { db in
            let insert = try db.prepared(
                """
                INSERT INTO spellings (text, resource)
                SELECT ?1, r.id FROM resources r LEFT JOIN spellings s ON s.text = ?1
                WHERE r.key = ?2 AND s.resource IS NOT r.id
                ON CONFLICT (text) DO UPDATE SET resource = excluded.resource
                """)
            for spelling in spellings { try insert.run(spelling.text, spelling.key) }
        }
    }

    package func failures(_ keys: [String]) throws(CacheError) -> [PastFailure?] {
        guard let index else { return keys.map { _ in nil } }
        return try index.lookUp(inTransaction: keys.count > 1) { db in
            let find = try db.prepared(
                "SELECT code, status, failed_at, count FROM failures WHERE key = ?")
            return try keys.map { key in try find.rows(key) { PastFailure(&$0) }.first }
        }
    }

    package var hasDamaged: Bool { index?.isMigrated ?? false }
    package var indexURI: String? { index?.uri }

    package static func scratchDatabase(
        at path: String?, beside cache: Cache?
    ) throws -> DatabaseQueue { try DatabaseFile.openScratch(at: path, joining: cache?.index) }

    package func listFormerKeys(in db: Database) throws -> Bool {
        try index?.listFormerKeys(in: db) ?? false
    }
}
