import Foundation
import GRDB
import LarderCache
import LarderCore

/// A lookup of ascending keys in a cache's index. Most keys exist, so stepping from row to row
/// takes half the time of separate lookups.
struct ResourceRecall {
    private static let stepLimit = 2

    private let rows: PreparedStatement
    /// The current row. Its first column is the key.
    private var row: RowReader?
    private var isAtEnd = false

    init(_ db: Database, at now: Date, policy: PlanPolicy) throws {
        // Only `always` needs the directives, to find immutable responses.
        let directives = policy.revalidation == .always ? "r.cache_control" : "NULL"
        rows = try db.prepared(
            """
            SELECT r.key, \(NamedResource.Known.columns(at: now, directives: directives))
            FROM cache.resources r CROSS JOIN cache.objects o ON o.id = r.object
            WHERE r.key >= ? ORDER BY r.key
            """)
    }

    /// Returns nil if the key's row is missing or damaged. Keys must ascend from call to call.
    mutating func known(
        for key: [UInt8], _ column: RowReader.Column
    ) throws -> NamedResource.Known? {
        var passed = 0
        while let row {
            let order = Self.order(of: row, key)
            if order == 0 { return Self.known(row, as: key) }
            // After a greater key, looks up again, because a damaged row may have a wrong key.
            guard order < 0, passed < Self.stepLimit else { break }
            passed += 1
            self.row = try rows.next()
        }
        guard !isAtEnd else { return nil }
        try rows.bind(column)
        row = try rows.next()
        isAtEnd = row == nil
        guard let row, Self.order(of: row, key) == 0 else { return nil }
        return Self.known(row, as: key)
    }

    private static func known(_ row: RowReader, as key: [UInt8]) -> NamedResource.Known? {
        var row = row
        row.skip()
        return NamedResource.Known(&row).flatMap { ResourceKey.mayName($0.digest, key) ? $0 : nil }
    }

    func close() { rows.reset() }

    private static func order(of row: RowReader, _ key: [UInt8]) -> Int {
        var row = row
        return row.value().withBytes { bytes in
            let order = bytes.baseAddress.map { memcmp($0, key, min(bytes.count, key.count)) } ?? 0
            return order == 0 ? bytes.count - key.count : Int(order)
        }
    }
}
