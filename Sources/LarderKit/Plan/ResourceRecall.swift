import Foundation
import GRDB
import LarderCache

/// What a cache's index has for keys that come in its own order.
///
/// From one key it goes on to the next, since what is wanted is mostly what the index has: that costs
/// half of looking each up.
struct ResourceRecall {
    /// So many rows that nobody wants are passed over before the next key is looked up.
    private static let mostPassed = 2

    private let rows: PreparedStatement
    private var position = Position.nowhere

    private enum Position { case nowhere, row, end }

    /// - Parameter now: when what is recalled is to be fresh.
    init(_ db: Database, at now: Date, policy: PlanPolicy) throws {
        // Directives are read where somebody asks for them.
        let directives = policy.revalidation == .always ? "r.cache_control" : "NULL"
        rows = try PreparedStatement(
            db,
            """
            SELECT o.digest, o.size, o.media_type IS NOT NULL, \(Resource.isFresh(at: now)),
                \(directives), \(ObjectUse.isDue(at: now)), r.response_url, r.vary, r.variant,
                o.id, r.key
            FROM cache.resources r CROSS JOIN cache.objects o ON o.id = r.object
            WHERE r.key >= ? ORDER BY r.key
            """)
    }

    /// What the index has for a key; nil for nothing, and for a row that is damaged.
    ///
    /// - Parameters:
    ///   - key: in bytes, the order of which is SQLite's; greater than all keys before.
    ///   - column: the same key, as a statement has it.
    mutating func known(
        for key: [UInt8], _ column: PreparedStatement.Column
    ) throws -> PlannedResource.Known? {
        var passed = 0
        while position == .row {
            let order = order(of: key)
            if order >= 0 { return order == 0 ? .init(rows) : nil }
            guard passed < Self.mostPassed else { break }
            passed += 1
            try advance()
        }
        guard position != .end else { return nil }
        try rows.bind(column)
        try advance()
        return position == .row && order(of: key) == 0 ? .init(rows) : nil
    }

    /// Lets go of the index.
    func close() { rows.reset() }

    private mutating func advance() throws { position = try rows.step() ? .row : .end }

    /// Below 0 where the row's key comes before `key`, above where it comes after.
    private func order(of key: [UInt8]) -> Int {
        rows.withBytes(10) { bytes in
            let order = bytes.baseAddress.map { memcmp($0, key, min(bytes.count, key.count)) } ?? 0
            return order == 0 ? bytes.count - key.count : Int(order)
        }
    }
}
