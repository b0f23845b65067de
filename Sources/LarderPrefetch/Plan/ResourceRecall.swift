import Foundation
import GRDB
import LarderCache
import LarderCore

/// Looks up ascending keys in a cache's index. Steps from one row to the next, since most keys are
/// in the index: this takes half the time of looking each up.
struct ResourceRecall {
    /// After this many unwanted rows, the next key is looked up.
    private static let mostPassed = 2

    private let rows: PreparedStatement
    /// The columns of the current row, the key first; nil before the first and after the last.
    private var row: RowReader?
    /// Whether all rows come before the wanted keys, as in an empty cache.
    private var isAtEnd = false

    init(_ db: Database, at now: Date, policy: PlanPolicy) throws {
        // Directives are needed only to find immutable responses.
        let directives = policy.revalidation == .always ? "r.cache_control" : "NULL"
        rows = try PreparedStatement(
            db,
            """
            SELECT r.key, \(NamedResource.Known.columns(at: now, directives: directives))
            FROM cache.resources r CROSS JOIN cache.objects o ON o.id = r.object
            WHERE r.key >= ? ORDER BY r.key
            """)
    }

    /// Returns a key's row, or nil if there is none or it is damaged. Keys must ascend.
    mutating func known(
        for key: [UInt8], _ column: RowReader.Column
    ) throws -> NamedResource.Known? {
        var passed = 0
        while let row {
            let order = Self.order(of: row, key)
            if order == 0 { return Self.known(row, as: key) }
            // A damaged row may seem to come after all that is wanted: it is not waited at.
            guard order < 0, passed < Self.mostPassed else { break }
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

    /// Below 0 if the row's key comes before `key`, above if it comes after.
    private static func order(of row: RowReader, _ key: [UInt8]) -> Int {
        var row = row
        return row.value().withBytes { bytes in
            let order = bytes.baseAddress.map { memcmp($0, key, min(bytes.count, key.count)) } ?? 0
            return order == 0 ? bytes.count - key.count : Int(order)
        }
    }
}
