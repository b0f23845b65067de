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
        try index?.forEachResource(body)
    }

    package func firstKey(from text: String, arePinned: Bool) throws(CacheError) -> String? {
        try index?.firstKey(from: text, arePinned: arePinned)
    }

    package func lastKey(beginningWith text: String, arePinned: Bool) throws(CacheError) -> String?
    {
        try index?.lastKey(beginningWith: text, arePinned: arePinned)
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

    /// The last failures of resources, in the order of the keys; nil for those without one.
    package func failures(_ keys: [String]) throws(CacheError) -> [PastFailure?] {
        try index?.failures(keys) ?? keys.map { _ in nil }
    }

    /// Changes with each commit to the index, also of this process; nil without an index.
    package func indexVersion() throws(CacheError) -> Int64? { try index?.version() }

    package func forEachSpelling(_ body: (Spelling) throws -> Void) throws {
        guard let index, index.hasSpellings else { return }
        try index.forEachPage(
            of: "s.text, r.key", ordered: "s.text",
            from: "spellings s JOIN resources r ON r.id = s.resource",
            as: { Spelling(try $0.requireText(), of: try $0.requireText()) }, key: \.text
        ) { try $0.forEach(body) }
    }

    package func record(_ spellings: [Spelling]) throws(CacheError) {
        precondition(spellings.count <= ObjectUse.stepLimit, "others would wait too long")
        try requireWritable().record(spellings)
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
