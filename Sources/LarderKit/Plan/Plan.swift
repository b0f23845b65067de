import Foundation
import GRDB
import LarderCache
import LarderTransfer
import Synchronization

/// What has to be done for some manifests, given a cache: a temporary database, so that a million
/// entries need no more memory than ten.
///
/// An entry's icon is a row; the first that names a resource leads the others, and is that
/// resource's fetch. Rows are numbered in the order of the manifests.
final class Plan: Sendable {
    /// The manifests' names, in order.
    let manifests: [String]
    let summary: PlanSummary
    /// Scheme, host and port of every URL to be fetched; a fetch names one by its place here.
    let origins: [String]
    let hasIndex: Bool
    private let seal = CredentialSeal()
    /// Read without transactions: it has this one user, and GRDB's own would make SQLite compile
    /// every statement anew.
    let database: DatabaseQueue

    /// Reads all `manifests`, folds duplicates, and compares the rest with `cache`.
    ///
    /// - Parameters:
    ///   - cache: nil reads as an empty one.
    ///   - path: where the temporary database is to be; nil leaves the place to SQLite.
    /// - Throws: `ManifestError` if one is no manifest, ``CacheError``.
    init(
        of manifests: [ManifestSource], rules: ManifestRules, cache: Cache?,
        acceptsAnyContent: Bool, policy: PlanPolicy, headers: RequestHeaders, at path: String?,
        isCancelled: () -> Bool = { false }
    ) throws {
        self.manifests = manifests.map(\.name)
        hasIndex = cache?.indexURI != nil
        database = try PlanSchema.open(at: path, cache: cache)
        (summary, origins) = try database.writeWithoutTransaction { [seal] db in
            var builder = try PlanBuilder(for: db, sealingWith: seal)
            try db.inTransaction {
                let feed = ManifestFeed(manifests, rules: rules)
                defer { feed.close() }
                while let message = try feed.next() {
                    if isCancelled() { throw CancellationError() }
                    switch message {
                    case .items(let items, let number):
                        for item in items { try builder.add(item, of: number) }
                    case .end(let summary): builder.summary.manifests.append(summary)
                    }
                }
                return .commit
            }
            try db.inTransaction {
                var classification = try PlanClassification(
                    of: db, cache: cache, acceptsAnyContent: acceptsAnyContent, policy: policy,
                    headers: headers)
                try classification.apply(to: &builder.summary)
                return .commit
            }
            return (builder.summary, builder.origins)
        }
    }

    /// Lets go of what is not needed once the settled entries are reported: most of the pages in
    /// memory, as fetches are read in order; and the cache's index, since the last connection to
    /// leave an index folds its log into it, and this one cannot.
    func endSettling() throws {
        try database.writeWithoutTransaction { db in
            try PlanSchema.shrink(db)
            if hasIndex { try db.execute(sql: "DETACH DATABASE cache") }
        }
    }

    /// Makes an order of what is to be fetched, unless it is there.
    func make(_ order: PlanSchema.Order) throws {
        try database.writeWithoutTransaction { try PlanSchema.make(order, in: $0) }
    }

    /// Puts what is to be fetched in its order, origin by origin.
    ///
    /// - Returns: the origins that have any, by what they have first, and how many URLs each has.
    func orderFetches() throws -> [(origin: Int, urls: Int)] {
        try make(.fetch)
        try make(.origin)
        return try database.unsafeRead { db in
            try PreparedStatement(
                db,
                """
                SELECT origin, count(*) FROM pending p GROUP BY origin
                ORDER BY min(turn), (
                    SELECT first.fetch FROM pending first WHERE first.origin = p.origin
                    ORDER BY first.turn, first.fetch LIMIT 1)
                """
            ).rows { (Int($0.integer(0)), Int($0.integer(1))) }
        }
    }

    /// The next URLs of an origin that are to be fetched: by priority, then in the order of the
    /// manifests. After ``orderFetches()``.
    ///
    /// - Parameter place: of the one before; nil for the first.
    func fetches(
        ofOrigin origin: Int, after place: PlannedFetch.Place?, limit: Int
    ) throws -> [PlannedFetch] {
        try database.unsafeRead { db in
            try PreparedStatement(
                db,
                """
                SELECT f.id, f.key, f.url, f.priority, p.is_strict, p.status, f.credentials,
                    p.entries, p.icons
                FROM pending p JOIN entries f ON f.id = p.fetch
                WHERE p.origin = ? AND (p.turn, p.fetch) > (?, ?) ORDER BY p.turn, p.fetch LIMIT ?
                """
            ).rows(origin, place?.turn ?? .min, place?.fetch ?? 0, limit) { row in
                let key = row.text(1) ?? ""
                return PlannedFetch(
                    id: row.integer(0), key: key, url: row.text(2) ?? key,
                    credentials: try row.data(6).map(seal.open), priority: Int(row.integer(3)),
                    hasExpectation: row.bool(4),
                    status: PlanStatus(rawValue: Int(row.integer(5))) ?? .missing,
                    entries: Int(row.integer(7)), icons: Int(row.integer(8)))
            }
        }
    }

    /// What the manifests themselves have for fetches that are due, in their order, one at a time.
    func forEachInline(_ body: (_ fetch: Int64, _ key: String, _ bytes: Data) throws -> Void) throws
    {
        try make(.fetch)
        var last: Int64 = 0
        while true {
            let page = try database.unsafeRead { db in
                try PreparedStatement(
                    db,
                    """
                    SELECT i.fetch, i.key, i.bytes
                    FROM inline i CROSS JOIN pending p ON p.fetch = i.fetch
                    WHERE i.fetch > ? ORDER BY i.fetch LIMIT 1
                    """
                ).rows(last) { ($0.integer(0), $0.text(1) ?? "", $0.data(2) ?? Data()) }
            }
            guard let (fetch, key, bytes) = page.first else { return }
            last = fetch
            try body(fetch, key, bytes)
        }
    }

    /// What the entries of a fetch demand, each demand once, none if an entry demands nothing.
    func expectations(of fetch: Int64) throws -> [Expectation] {
        try database.unsafeRead { db in
            try PreparedStatement(
                db,
                """
                SELECT digest, size FROM entries WHERE id = ?1 OR leader = ?1
                GROUP BY digest, size ORDER BY min(id)
                """
            ).rows(fetch) { Expectation(digest: $0.digest(0), size: $0.optionalInteger(1)) }
        }
    }

    /// Remembers that fetches have been reported. After ``orderFetches()`` or
    /// ``forEachInline(_:)``.
    func markDone(_ fetches: some Sequence<Int64>) throws {
        try database.write { db in
            let delete = try PreparedStatement(db, "DELETE FROM pending WHERE fetch = ?")
            for fetch in fetches { try delete.run(fetch) }
        }
    }

    /// The objects of what is cached and whose use is to be recorded, a page at a time, in the
    /// order in which the index has them.
    func forEachUse(_ body: ([IndexedObject]) throws -> Void) throws {
        try database.unsafeRead { db in
            let rows = try PreparedStatement(db, "SELECT object, digest FROM uses ORDER BY object")
            defer { rows.reset() }
            var page: [IndexedObject] = []
            while try rows.step() {
                page.append(IndexedObject(row: rows.integer(0), digest: try rows.requireDigest(1)))
                guard page.count == ObjectUse.stepLimit else { continue }
                try body(page)
                page.removeAll(keepingCapacity: true)
            }
            if !page.isEmpty { try body(page) }
        }
    }

    /// Runs `body`; what SQLite says of the plan's own file becomes a ``CacheError``, so that a
    /// full disk is called one.
    static func translatingErrors<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw CacheError(index: "the plan", error)
        }
    }
}
