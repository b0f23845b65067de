import Foundation
import GRDB
import LarderCache
import LarderCore
import Synchronization

/// What a cache's index has for keys that come in its own order.
///
/// From one key it goes on to the next, since what is wanted is mostly what the index has: that
/// costs half of looking each up.
struct ResourceRecall {
    /// So many rows that nobody wants are passed over before the next key is looked up.
    private static let mostPassed = 2

    private let rows: PreparedStatement
    /// The columns of the current row, the key first; nil before the first and after the last.
    private var row: RowReader?

    /// - Parameter now: when what is recalled is to be fresh.
    init(_ db: Database, at now: Date, policy: PlanPolicy) throws {
        // Directives are read if somebody asks for them.
        let directives = policy.revalidation == .always ? "r.cache_control" : "NULL"
        rows = try PreparedStatement(
            db,
            """
            SELECT r.key, \(PlannedResource.Known.columns(at: now, directives: directives))
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
        for key: [UInt8], _ column: RowReader.Column
    ) throws -> PlannedResource.Known? {
        var passed = 0
        while let row {
            let order = Self.order(of: row, key)
            if order == 0 { return Self.known(row, as: key) }
            // A damaged row may seem to come after all that is wanted: it is not waited at.
            guard order < 0, passed < Self.mostPassed else { break }
            passed += 1
            self.row = try rows.next()
        }
        try rows.bind(column)
        row = try rows.next()
        guard let row, Self.order(of: row, key) == 0 else { return nil }
        return Self.known(row, as: key)
    }

    private static func known(_ row: RowReader, as key: [UInt8]) -> PlannedResource.Known? {
        var row = row
        row.skip()
        return PlannedResource.Known(&row).flatMap {
            ResourceKey.mayName($0.digest, key) ? $0 : nil
        }
    }

    /// Lets go of the index.
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

/// Looks for the objects of a page of resources in a cache's tree, on another thread.
final class PresenceLookup: Sendable {
    private let page: [PlannedResource]
    /// The places of those that are looked for.
    private let wanted: [Int]
    private let arePresent = Mutex<Result<[Bool], CacheError>>(.success([]))
    private let isDone = DispatchSemaphore(value: 0)

    private static let queue = DispatchQueue(label: "larder.presence")

    /// Begins to look.
    ///
    /// - Parameter isWanted: whether it matters that the object is there.
    init(
        of page: [PlannedResource], in cache: Cache?,
        where isWanted: (PlannedResource.Known) -> Bool
    ) {
        self.page = page
        wanted = page.indices.filter { page[$0].known.map(isWanted) ?? false }
        guard let cache, !wanted.isEmpty else {
            isDone.signal()
            return
        }
        Self.queue.async { [self] in
            let objects = wanted.compactMap { page[$0].known.map { ($0.digest, $0.size) } }
            let found = Result { () throws(CacheError) in try cache.arePresent(objects) }
            arePresent.withLock { $0 = found }
            isDone.signal()
        }
    }

    /// Waits for the answer, and hands out the page in its order. To be called once.
    func forEach(_ body: (PlannedResource, _ isPresent: Bool) throws -> Void) throws {
        isDone.wait()
        let present = try arePresent.withLock { $0 }.get()
        var isPresent = [Bool](repeating: false, count: page.count)
        for (place, isThere) in zip(wanted, present) { isPresent[place] = isThere }
        for (place, resource) in page.enumerated() { try body(resource, isPresent[place]) }
    }
}
