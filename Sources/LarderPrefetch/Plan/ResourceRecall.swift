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

    /// The column of the key, behind those of ``NamedResource/Known``.
    private static let keyColumn: CInt = 10

    private let rows: PreparedStatement
    private var isAtRow = false

    /// - Parameter now: when what is recalled is to be fresh.
    init(_ db: Database, at now: Date, policy: PlanPolicy) throws {
        // Directives are read if somebody asks for them.
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
    ) throws -> NamedResource.Known? {
        var passed = 0
        while isAtRow {
            let order = order(of: key)
            if order == 0 { return row(as: key) }
            // A damaged row may seem to come after all that is wanted: it is not waited at.
            guard order < 0, passed < Self.mostPassed else { break }
            passed += 1
            isAtRow = try rows.step()
        }
        try rows.bind(column)
        isAtRow = try rows.step()
        return isAtRow && order(of: key) == 0 ? row(as: key) : nil
    }

    private func row(as key: [UInt8]) -> NamedResource.Known? {
        NamedResource.Known(rows).flatMap { ResourceKey.mayName($0.digest, key) ? $0 : nil }
    }

    /// Lets go of the index.
    func close() { rows.reset() }

    /// Below 0 if the row's key comes before `key`, above if it comes after.
    private func order(of key: [UInt8]) -> Int {
        rows.withBytes(Self.keyColumn) { bytes in
            let order = bytes.baseAddress.map { memcmp($0, key, min(bytes.count, key.count)) } ?? 0
            return order == 0 ? bytes.count - key.count : Int(order)
        }
    }
}

/// Looks for the objects of a page of resources in a cache's tree, on another thread.
final class PresenceLookup: Sendable {
    private let page: [NamedResource]
    /// The places of those that are looked for.
    private let wanted: [Int]
    private let arePresent = Mutex<Result<[Bool], CacheError>>(.success([]))
    private let isDone = DispatchSemaphore(value: 0)

    private static let queue = DispatchQueue(label: "larder.presence")

    /// Begins to look.
    ///
    /// - Parameter isWanted: whether it matters that the object is there.
    init(
        of page: [NamedResource], in cache: Cache?,
        where isWanted: (NamedResource.Known) -> Bool
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
    func forEach(_ body: (NamedResource, _ isPresent: Bool) throws -> Void) throws {
        isDone.wait()
        let present = try arePresent.withLock { $0 }.get()
        var isPresent = [Bool](repeating: false, count: page.count)
        for (place, isThere) in zip(wanted, present) { isPresent[place] = isThere }
        for (place, resource) in page.enumerated() { try body(resource, isPresent[place]) }
    }
}
