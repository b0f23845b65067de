import Foundation
import GRDB
import LarderCache
import LarderTransfer
import Synchronization

/// What has to be done for some manifests, given a cache: a temporary database, so that a million
/// entries need no more memory than ten.
///
/// An entry's icon is a row; the first that names a resource leads the others, and is that resource's
/// fetch. Rows are numbered in the order of the manifests.
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
    /// - Throws: `ManifestError` where one is no manifest, ``CacheError``.
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
                let classification = try PlanClassification(
                    of: db, cache: cache, acceptsAnyContent: acceptsAnyContent, policy: policy,
                    headers: headers)
                try classification.apply(to: &builder.summary)
                return .commit
            }
            return (builder.summary, builder.origins)
        }
    }

    /// Lets go of the cache's index, once the settled entries are reported: the last connection to
    /// leave an index folds its log into it, and this one cannot.
    func detachIndex() throws {
        guard hasIndex else { return }
        try database.writeWithoutTransaction { try $0.execute(sql: "DETACH DATABASE cache") }
    }

    /// The next URLs of an origin that are to be fetched, by rank, after `rank`.
    func fetches(ofOrigin origin: Int, after rank: Int64, limit: Int) throws -> [PlannedFetch] {
        try database.unsafeRead { db in
            try PreparedStatement(
                db,
                """
                SELECT f.id, f.key, f.url, f.priority, p.rank, p.is_strict, p.status, f.credentials,
                    p.entries, p.icons
                FROM pending p JOIN entries f ON f.id = p.fetch
                WHERE p.origin = ? AND p.rank > ? ORDER BY p.rank LIMIT ?
                """
            ).rows(origin, rank, limit) { row in
                let key = row.text(1) ?? ""
                return PlannedFetch(
                    id: row.integer(0), key: key, url: row.text(2) ?? key,
                    credentials: try row.data(7).map(seal.open), priority: Int(row.integer(3)),
                    rank: row.integer(4), hasExpectation: row.bool(5),
                    status: PlanStatus(rawValue: Int(row.integer(6))) ?? .missing,
                    entries: Int(row.integer(8)), icons: Int(row.integer(9)))
            }
        }
    }

    /// What the manifests themselves have for fetches that are due, by rank, one at a time.
    func forEachInline(_ body: (_ fetch: Int64, _ key: String, _ bytes: Data) throws -> Void) throws
    {
        var last: Int64 = 0
        while true {
            let row = try database.unsafeRead { db in
                try Row.fetchOne(
                    db.cachedStatement(
                        sql: """
                            SELECT p.rank, f.id, f.key, i.bytes
                            FROM pending p JOIN inline i ON i.fetch = p.fetch
                                JOIN entries f ON f.id = p.fetch
                            WHERE p.rank > ? ORDER BY p.rank LIMIT 1
                            """), arguments: [last])
            }
            guard let row else { return }
            last = row[0]
            try body(row[1], row[2], row[3])
        }
    }

    /// The origins that have URLs to be fetched.
    func pendingOrigins() throws -> [Int] {
        try database.unsafeRead { db in
            try Int.fetchAll(db, sql: "SELECT DISTINCT origin FROM pending")
        }
    }

    /// What the entries of a fetch demand, each demand once, none where an entry demands nothing.
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

    /// The entries that wait for a fetch, a page at a time; the plan's leading one first.
    func forEachEntry(of fetch: Int64, _ body: ([PlannedEntry]) throws -> Void) throws {
        var page = try database.unsafeRead { db in
            try PreparedStatement(db, Self.selectEntry + " WHERE e.id = ?").rows(fetch, as: entry)
        }
        repeat {
            guard let last = page.last else { return }
            try body(page)
            page = try database.unsafeRead { db in
                try PreparedStatement(
                    db,
                    Self.selectEntry + " WHERE e.leader = ? AND e.id > ? ORDER BY e.id LIMIT 512"
                ).rows(fetch, last.id, as: entry)
            }
        } while true
    }

    /// Remembers that a fetch has been reported.
    func markDone(_ fetches: some Sequence<Int64>) throws {
        try database.write { db in
            let delete = try PreparedStatement(db, "DELETE FROM pending WHERE fetch = ?")
            for fetch in fetches { try delete.run(fetch) }
        }
    }

    /// Every entry that needs nothing from the network: cached, skipped or failed. In the order
    /// of the manifests, a page of rows at a time; before ``detachIndex()``.
    func forEachSettledEntry(_ body: ([PlannedEntry]) throws -> Void) throws {
        try forEachEntry(
            hasIndex ? Self.selectEntryWithObject : Self.selectEntry, where: "p.fetch IS NULL", body
        )
    }

    /// Of those, the ones that were skipped or have failed.
    func forEachProblem(_ body: ([PlannedEntry]) throws -> Void) throws {
        guard summary.failed + summary.skipped > 0 else { return }
        try forEachEntry(
            Self.selectEntry, where: "(e.key IS NULL OR s.fetch IS NOT NULL)", body)
    }

    /// The objects of what is cached and whose use is to be recorded, a page at a time.
    func forEachUse(_ body: ([Digest]) throws -> Void) throws {
        var last: Int64 = 0
        while true {
            let page = try database.unsafeRead { db in
                try PreparedStatement(
                    db,
                    """
                    SELECT id, digest FROM uses WHERE id > ? ORDER BY id LIMIT \(ObjectUse.stepLimit)
                    """
                ).rows(last) { (id: $0.integer(0), digest: try $0.requireDigest(1)) }
            }
            guard let end = page.last?.id else { return }
            last = end
            try body(page.map(\.digest))
        }
    }

    /// Every entry whose URL was to be fetched and has not been reported.
    func forEachUnfinishedEntry(_ body: ([PlannedEntry]) throws -> Void) throws {
        try forEachEntry(
            Self.selectEntry, where: "p.fetch IS NOT NULL", body)
    }

    /// The order in which the URLs are fetched, entries of a URL together.
    func forEachEntryByRank(_ body: ([PlannedEntry]) throws -> Void) throws {
        var last: Int64 = 0
        while true {
            let page = try database.unsafeRead { db in
                try Row.fetchAll(
                    db,
                    sql: "SELECT rank, fetch FROM pending WHERE rank > ? ORDER BY rank LIMIT 256",
                    arguments: [last])
            }
            guard let rank = page.last?[0] as Int64? else { return }
            last = rank
            for row in page { try forEachEntry(of: row[1], body) }
        }
    }

    /// Runs `body`; what SQLite says of the plan's own file becomes a ``CacheError``, so that a full
    /// disk is called one.
    static func translatingErrors<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw CacheError(index: "the plan", error)
        }
    }

    private func forEachEntry(
        _ select: String, where condition: String, _ body: ([PlannedEntry]) throws -> Void
    ) throws {
        var last: Int64 = 0
        while true {
            // A page is read whole before it is handed out: the database is free meanwhile.
            let page = try database.unsafeRead { db in
                try PreparedStatement(
                    db, select + " WHERE e.id > ? AND \(condition) ORDER BY e.id LIMIT 512"
                ).rows(last, as: entry)
            }
            guard let end = page.last?.id else { return }
            last = end
            try body(page)
        }
    }

    private static let selectEntry = select()
    private static let selectEntryWithObject = select(
        ", \(StoredObject.columns)",
        "LEFT JOIN cache.resources r ON r.key = f.key LEFT JOIN cache.objects o ON o.id = r.object")

    private static func select(_ columns: String = "", _ tables: String = "") -> String {
        """
        SELECT e.id, e.manifest, e.position, e.name, f.id, e.digest, e.size, e.code, e.message,
            e.leader IS NOT NULL, f.key, f.url, f.priority,
            iif(f.id, coalesce(p.status, s.status, \(PlanStatus.cached.rawValue)), NULL),
            x.code, x.status, x.failed_at, x.count, f.credentials IS NOT NULL, e.icon\(columns)
        FROM entries e
            LEFT JOIN entries f ON f.id = coalesce(e.leader, e.id) AND f.key IS NOT NULL
            LEFT JOIN pending p ON p.fetch = f.id LEFT JOIN settled s ON s.fetch = f.id
            LEFT JOIN main.failures x ON x.fetch = f.id \(tables)
        """
    }

    private func entry(_ row: PreparedStatement) throws -> PlannedEntry {
        let url = row.text(11) ?? row.text(10)
        let status = row.optionalInteger(13).flatMap { PlanStatus(rawValue: Int($0)) }
        let lastFailure = row.text(14).map {
            PastFailure(
                code: $0, status: row.optionalInteger(15).map(Int.init),
                failedAt: Date(timeIntervalSince1970: row.double(16)), count: Int(row.integer(17)))
        }
        return PlannedEntry(
            manifest: manifests[Int(row.integer(1))], position: Int(row.integer(2)),
            icon: Int(row.integer(19)), name: row.text(3) ?? "",
            url: row.bool(18) ? url?.showingMask : url, status: status,
            isDuplicate: row.bool(9), priority: Int(row.integer(12)),
            error: problem(row, status, lastFailure), lastFailure: lastFailure,
            object: row.columnCount > 20 && !row.isNull(20)
                ? try StoredObject(row, startingAt: 20) : nil,
            id: row.integer(0), fetch: row.optionalInteger(4),
            expectation: Expectation(digest: row.digest(5), size: row.optionalInteger(6)))
    }

    private func problem(
        _ row: PreparedStatement, _ status: PlanStatus?, _ lastFailure: PastFailure?
    ) -> EntryProblem? {
        if let message = row.text(8) {
            let code = row.text(7)
            return EntryProblem(isSkip: code == nil, code: code ?? "no-icon", message: message)
        }
        return switch (status, lastFailure) {
        case (.failed, let failure?): EntryProblem(remembered: failure)
        case (.skipped, _): .notFailedBefore
        case (.unavailable, _): .offline
        default: nil
        }
    }
}
