import Foundation
import GRDB
import LarderCache
import LarderCore
import Synchronization

/// Looks up ascending keys in a cache's index.
///
/// Steps from one row to the next, since most keys are in the index. This takes half the time of
/// looking each up.
struct ResourceRecall {
    /// After this many unwanted rows, the next key is looked up.
    private static let mostPassed = 2

    /// The column of the key, behind those of ``NamedResource/Known``.
    private static let keyColumn: CInt = 10

    private let rows: PreparedStatement
    private var isAtRow = false

    /// - Parameter now: The time at which freshness is decided.
    init(_ db: Database, at now: Date, policy: PlanPolicy) throws {
        // Directives are needed only to find immutable responses.
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

    /// Returns the index's row for a key, or nil if there is none or it is damaged.
    ///
    /// - Parameters:
    ///   - key: Its bytes, greater than all keys before.
    ///   - column: The same key, as a statement's column.
    mutating func known(
        for key: [UInt8], _ column: PreparedStatement.Column
    ) throws -> NamedResource.Known? {
        var passed = 0
        while isAtRow {
            let order = order(of: key)
            if order == 0 { return row(as: key) }
            // A damaged row may seem to come after all others: do not wait at it.
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

    func close() { rows.reset() }

    /// Below 0 if the row's key comes before `key`, above if it comes after.
    private func order(of key: [UInt8]) -> Int {
        rows.withBytes(Self.keyColumn) { bytes in
            let order = bytes.baseAddress.map { memcmp($0, key, min(bytes.count, key.count)) } ?? 0
            return order == 0 ? bytes.count - key.count : Int(order)
        }
    }
}

/// Looks for the objects of a page of resources in the cache directory, on another thread.
final class PresenceLookup: Sendable {
    private let page: [NamedResource]
    /// Indices of the resources that are looked up.
    private let wanted: [Int]
    private let arePresent = Mutex<Result<[Bool], CacheError>>(.success([]))
    private let isDone = DispatchSemaphore(value: 0)

    private static let queue = DispatchQueue(label: "larder.presence")

    /// - Parameter isWanted: Whether the object is to be looked up.
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

    /// Waits for the result, and calls `body` for the page in order. Must be called once.
    func forEach(_ body: (NamedResource, _ isPresent: Bool) throws -> Void) throws {
        isDone.wait()
        let present = try arePresent.withLock { $0 }.get()
        var isPresent = [Bool](repeating: false, count: page.count)
        for (place, isThere) in zip(wanted, present) { isPresent[place] = isThere }
        for (place, resource) in page.enumerated() { try body(resource, isPresent[place]) }
    }
}
