import Foundation
import GRDB
import LarderCore

extension CacheIndex {
    func resource(_ key: String) throws(CacheError) -> Resource? { try resources([key])[0] }

    func resources(_ keys: [String]) throws(CacheError) -> [Resource?] {
        try lookUp(inTransaction: keys.count > 1) { db in
            let find = try db.prepared(
                """
                SELECT \(Resource.columns) FROM resources r JOIN objects o ON o.id = r.object
                WHERE r.key = ?
                """)
            func resource(_ key: String) throws -> Resource? {
                try find.rows(key, as: Resource.init).first.flatMap { $0.isAsNamed ? $0 : nil }
            }
            return try keys.map { key -> Resource? in
                if let found = try resource(key) { return found }
                return try formerKey(key, in: db).flatMap(resource)
            }
        }
    }

    func resource(spelledAs text: String) throws(CacheError) -> Resource? {
        let find = """
            SELECT \(Resource.columns) FROM spellings s JOIN resources r ON r.id = s.resource
                JOIN objects o ON o.id = r.object
            WHERE s.text = ?
            """
        let found = try lookUp { try $0.prepared(find).rows(text, as: Resource.init).first }
        return found.flatMap { $0.isAsNamed ? $0 : nil }
    }

    func object(_ digest: Digest) throws(CacheError) -> StoredObject? {
        try lookUp { db in
            try db.prepared("SELECT \(StoredObject.columns) FROM objects o WHERE o.digest = ?")
                .rows(digest, as: StoredObject.init).first
        }
    }

    /// Calls `body` with pages of up to 500 rows, outside transactions.
    func forEachPage<Row>(
        of columns: String, ordered column: String, from tables: String,
        as row: (inout RowReader) throws -> Row, key: (Row) -> String,
        _ body: ([Row]) throws -> Void
    ) throws {
        var last: String?
        while true {
            let page = try lookUp { db in
                let page = try db.prepared(
                    """
                    SELECT \(columns) FROM \(tables)
                    WHERE \(column) \(last == nil ? ">=" : ">") ? ORDER BY \(column) LIMIT 500
                    """
                ).rows(last ?? "", as: row)
                // If a damaged index returns rows out of order, the loop may never end.
                guard let last, let end = page.last,
                    !last.utf8.lexicographicallyPrecedes(key(end).utf8)
                else { return page }
                throw DatabaseError.corruption("rows are out of order")
            }
            guard let end = page.last else { return }
            last = key(end)
            try body(page)
        }
    }

    func objects(fanOut byte: UInt8) throws(CacheError) -> [StoredObject] {
        try rows(StoredObject.columns, fanOut: byte, as: StoredObject.init)
    }

    func rows<Value>(
        _ columns: String, fanOut byte: UInt8, as row: (inout RowReader) throws -> Value
    ) throws(CacheError) -> [Value] {
        let last = Data([byte] + [UInt8](repeating: 255, count: Digest.byteCount - 1))
        return try lookUp(inTransaction: true) { db in
            try db.prepared("SELECT \(columns) FROM objects o WHERE o.digest BETWEEN ? AND ?")
                .rows(Data([byte]), last, as: row)
        }
    }

    func keys(of digest: Digest) throws(CacheError) -> [String] {
        try lookUp { db in
            try db.prepared(
                """
                SELECT r.key FROM resources r JOIN objects o ON o.id = r.object
                WHERE o.digest = ? ORDER BY r.key
                """
            ).rows(digest) { try $0.requireText() }
        }
    }

    func totals() throws(CacheError) -> IndexTotals {
        try lookUp(inTransaction: true) { db in
            var totals = IndexTotals()
            // The step limit can end count(id), but not count(*).
            try db.prepared(
                """
                SELECT o.*, r.*, (SELECT count(key) FROM failures), (SELECT count(key) FROM pins)
                FROM (SELECT count(id), coalesce(sum(size), 0), min(stored_at), max(stored_at),
                        min(used_at), max(used_at) FROM objects) o,
                    (SELECT count(id), coalesce(sum(\(Resource.isFresh(at: Date()))), 0)
                        FROM resources r) r
                """
            ).forEach { row in
                totals.objects = Int(row.integer())
                totals.bytes = try row.requireInteger()
                totals.oldest = try row.optional { try $0.requireDate() }
                totals.newest = try row.optional { try $0.requireDate() }
                totals.oldestUse = try row.optional { try $0.requireDate() }
                totals.newestUse = try row.optional { try $0.requireDate() }
                totals.resources = Int(row.integer())
                totals.freshResources = Int(row.integer())
                totals.failures = Int(row.integer())
                totals.pins = Int(row.integer())
            }
            return totals
        }
    }

    func objectTotals() throws(CacheError) -> ObjectTally {
        try lookUp(inTransaction: true) { try ObjectTally($0, "objects") }
    }
}

extension ObjectTally {
    init(_ db: Database, _ table: String) throws {
        let sums = try db.prepared("SELECT count(id), coalesce(sum(size), 0) FROM \(table)").rows {
            (Int($0.integer()), try $0.requireInteger())
        }
        (count, bytes) = sums.first ?? (0, 0)
    }
}

/// Counts, sizes and times from an index.
public struct IndexTotals: Sendable, Equatable {
    /// The number of objects.
    public var objects = 0
    /// The size of all objects in bytes.
    public var bytes: Int64 = 0
    /// The number of resources.
    public var resources = 0
    /// The number of fresh resources.
    public var freshResources = 0
    /// The number of resources whose last request failed.
    public var failures = 0
    /// The storage time of the oldest object.
    public var oldest: Date?
    /// The storage time of the newest object.
    public var newest: Date?
    /// The time of the least recent use, to within an hour.
    public var oldestUse: Date?
    /// The time of the most recent use, to within an hour.
    public var newestUse: Date?
    /// The number of pinned resources, cached or not.
    public var pins = 0
}
