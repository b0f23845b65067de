import GRDB

extension Cache {
    /// A database of one run's own (``ScratchDatabase``), joined with the index of a cache.
    ///
    /// - Parameters:
    ///   - path: where it will be; nil leaves the place to SQLite.
    ///   - cache: nil if there is none.
    package static func scratchDatabase(
        at path: String?, beside cache: Cache?
    ) throws -> DatabaseQueue {
        try ScratchDatabase.open(at: path, joining: cache?.index)
    }

    /// Lists former keys of the joined index (``CacheIndex/listFormerKeys(in:)``).
    package func listFormerKeys(in db: Database) throws -> Bool {
        try index?.listFormerKeys(in: db) ?? false
    }
}
