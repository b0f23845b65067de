import GRDB
import LarderCore

extension Cache {
    /// Returns the resource of a key (``Resource/key``); nil if it is not cached.
    /// ``resource(spelledAs:)`` takes URLs.
    public func resource(_ key: String) throws(CacheError) -> Resource? { try index?.resource(key) }

    /// The same for several, in their order: one look into the index for all of them.
    ///
    /// - Parameter rows: The rows that had these keys before, which are found faster; 0 for an
    ///   unknown one. A row that has another key by now is not used.
    package func resources(
        _ keys: [String], at rows: [Int64] = []
    ) throws(CacheError) -> [Resource?] {
        try index?.resources(keys, at: rows) ?? keys.map { _ in nil }
    }

    package func object(_ digest: Digest) throws(CacheError) -> StoredObject? {
        try index?.object(digest)
    }

    /// Every resource in the order of its key. What others change meanwhile is seen or not.
    public func forEachResource(_ body: (Resource) throws -> Void) throws {
        try index?.forEachPage(
            of: Resource.columns, ordered: "r.key",
            from: "resources r JOIN objects o ON o.id = r.object", as: Resource.init, key: \.key
        ) { page in
            for resource in page where resource.isAsNamed { try body(resource) }
        }
    }

    /// Returns the first keys that begin with a text, at most `limit`. If there are so many, the
    /// last one of all follows them.
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

    /// Returns the resource of a key, or of a URL in the spelling of the last prefetched manifest
    /// or any equal one (`HTTPURL.key` of LarderCore); nil if it is not cached.
    public func resource(spelledAs text: String) throws(CacheError) -> Resource? {
        guard let index else { return nil }
        if let resource = try index.resource(text) { return resource }
        if let resource = try index.resource(spelledAs: text) { return resource }
        // The icon of a URL with credentials may be another's.
        guard let url = try? HTTPURL(text), url.credentials == nil else { return nil }
        let key = url.key
        return key.isSame(as: text) ? nil : try index.resource(key)
    }

    /// The same for clients that leave out the `?` of an empty query, as curl does.
    package func resource(spelledWithoutEmptyQuery text: String) throws(CacheError) -> Resource? {
        if let resource = try resource(spelledAs: text) { return resource }
        return try text.utf8.contains(UInt8(ascii: "?")) ? nil : resource(spelledAs: text + "?")
    }

    /// Changes with each commit to the index, also of this process; nil without an index.
    package func indexVersion() throws(CacheError) -> Int64? {
        try index?.lookUp(isWatching: true) { db in
            try db.prepared("PRAGMA data_version").firstInteger() ?? 0
        }
    }

    package func forEachSpelling(_ body: (Spelling) throws -> Void) throws {
        guard let index, index.hasSpellings else { return }
        try index.forEachPage(
            of: "s.text, r.key", ordered: "s.text",
            from: "spellings s JOIN resources r ON r.id = s.resource",
            as: { Spelling(try $0.requireText(), of: try $0.requireText()) }, key: \.text
        ) { try $0.forEach(body) }
    }

    package var hasDamaged: Bool { index?.hasDamaged ?? false }
    package var indexURI: String? { index?.uri }

    package static func scratchDatabase(
        at path: String?, beside cache: Cache?
    ) throws -> DatabaseQueue {
        try ScratchDatabase.open(at: path, joining: cache?.index)
    }

    package func listFormerKeys(in db: Database) throws -> Bool {
        try index?.listFormerKeys(in: db) ?? false
    }
}
