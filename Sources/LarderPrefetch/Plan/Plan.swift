import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest
import Synchronization

/// The work for manifests, given a cache, in a temporary database: memory does not grow with the
/// number of entries.
///
/// Each icon of an entry is a row. The first row that names a resource leads the others, and its
/// number is the resource's. Rows are numbered in the order of the manifests.
final class Plan: Sendable {
    /// The manifests' names, in order.
    let manifests: [String]
    let summary: PlanSummary
    /// Scheme, host and port of the pending URLs, indexed by ``PlannedResource``'s origin.
    let origins: [String]
    let hasIndex: Bool
    let seal = CredentialSeal()
    let pending: Mutex<PendingFetches>
    /// Whether any resource has several entries.
    let hasFollowers: Bool
    /// Read without transactions: it has one user, and GRDB's transactions would make SQLite
    /// compile every statement again.
    let database: DatabaseQueue

    /// Reads all `manifests`, folds duplicates, and compares the rest with the planner's cache.
    ///
    /// - Parameter path: The temporary database's; nil leaves the place to SQLite.
    init(
        of manifests: [ManifestSource], by planner: Planner, at path: String? = nil,
        isCancelled: () -> Bool = { false },
        onProgress: @escaping (PlanProgress) -> Void = { _ in }
    ) throws {
        self.manifests = manifests.map(\.name)
        hasIndex = planner.cache?.indexURI != nil
        database = try Cache.scratchDatabase(at: path, beside: planner.cache)
        let toFetch: PendingFetches
        (summary, origins, toFetch, hasFollowers) = try database.writeWithoutTransaction {
            [seal] db in
            try db.execute(sql: Plan.tables)
            var builder = try PlanBuilder(for: db, shard: planner.shard, sealingWith: seal)
            var meter = PlanMeter(onProgress)
            try db.inTransaction {
                let feed = ManifestFeed(manifests, rules: planner.rules)
                defer { feed.close() }
                while case let messages = try feed.next(unless: isCancelled), !messages.isEmpty {
                    for message in messages {
                        if isCancelled() { throw CancellationError() }
                        switch message {
                        case .begin(let number): meter.begin(manifests[number].name)
                        case .items(let items, let number, let share):
                            meter.count(items.count, share: share)
                            for item in items { try builder.add(item, of: number) }
                        case .end(let summary):
                            let source = manifests[builder.summary.manifests.count]
                            if let error = summary.refusalIfAllWereRead(of: source) { throw error }
                            builder.add(summary)
                        }
                    }
                }
                return .commit
            }
            meter.begin(nil)
            let classification = try PlanClassification(
                of: db, by: planner, builder.summary,
                pending: PendingFetches(upTo: builder.lastID, areInOrder: builder.areInOrder))
            try db.inTransaction {
                try classification.apply()
                return .commit
            }
            return (
                classification.summary, builder.origins.all, classification.pending,
                classification.hasFollowers
            )
        }
        pending = Mutex(toFetch)
    }

    /// Tables are written in their own order. Updating an index for every entry would take most of
    /// the time.
    private static let tables = """
        PRAGMA main.cache_size = -1536; -- KiB for pages, and as much again for what is being sorted
        CREATE TABLE main.entries (
            id INTEGER PRIMARY KEY, manifest INTEGER NOT NULL, position INTEGER NOT NULL,
            icon INTEGER NOT NULL,     -- its place among its entry's; a row is one icon
            name TEXT,
            key TEXT,                  -- of its resource; NULL where there is nothing to fetch
            url TEXT,                  -- NULL where it is the key, or the manifest has the bytes
            credentials BLOB,          -- sealed; NULL where there are none
            origin INTEGER,
            priority INTEGER NOT NULL DEFAULT 0,  -- a leader's: its resource's highest
            digest BLOB, size INTEGER,
            leader INTEGER,            -- the resource's first entry; NULL for that itself
            code TEXT,                 -- the failure's name, NULL for an entry without an icon
            message TEXT
        );
        CREATE INDEX main.followers ON entries (leader) WHERE leader IS NOT NULL;
        CREATE TABLE main.failures (   -- how fetches of the plan failed before
            fetch INTEGER PRIMARY KEY, code TEXT NOT NULL, status INTEGER, failed_at REAL NOT NULL,
            count INTEGER NOT NULL);
        CREATE TABLE main.inline (     -- bytes that the manifest itself has for a fetch
            fetch INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL);
        CREATE TABLE main.locked (     -- the bytes that entries came to, where a lock is wanted
            entry INTEGER PRIMARY KEY, digest BLOB NOT NULL, size INTEGER NOT NULL,
            media_type TEXT);
        CREATE TABLE main.settled (    -- what is not asked for because of how it went before
            fetch INTEGER PRIMARY KEY, status INTEGER NOT NULL);
        CREATE TABLE main.spellings (  -- of URLs, where they are not the canonical ones
            entry INTEGER PRIMARY KEY, text TEXT NOT NULL);
        CREATE TABLE main.uses (       -- what is cached, and used for the first time in a while
            object INTEGER NOT NULL, digest BLOB NOT NULL);
        """

    /// Frees memory, and detaches the cache's index: the last connection to an index checkpoints
    /// its log, which this read-only one cannot do.
    func releaseIndex() throws {
        try database.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA main.cache_size = -1024; PRAGMA shrink_memory")
            if hasIndex { try db.execute(sql: "DETACH DATABASE cache") }
        }
    }

    /// Calls `body` with the manifests' bytes of pending fetches, one at a time: they can be large.
    func forEachInline(_ body: (_ fetch: Int64, _ key: String, _ bytes: Data) throws -> Void) throws
    {
        try forEachPage { (page: [Int64]) in
            for fetch in page where pendingStatus(of: fetch) != nil {
                let inline = try database.unsafeRead { db in
                    try PreparedStatement(db, "SELECT key, bytes FROM inline WHERE fetch = ?")
                        .rows(fetch) { ($0.text() ?? "", $0.data() ?? Data()) }
                }
                for (key, bytes) in inline { try body(fetch, key, bytes) }
            }
        } reading: { db, last in
            try PreparedStatement(
                db, "SELECT fetch FROM inline WHERE fetch > ? ORDER BY fetch LIMIT ?"
            ).rows(last ?? 0, Self.pageLimit) { $0.integer() }
        }
    }

    /// Maximum number of different demands read of a fetch. Its bytes can meet only a few.
    private static let demandLimit = 1_000

    func expectations(of fetch: Int64) throws -> [Expectation] {
        try database.unsafeRead { db in
            try PreparedStatement(
                db,
                """
                SELECT \(Expectation.columns) FROM entries e WHERE id = ?1 OR leader = ?1
                GROUP BY digest, size ORDER BY min(id) LIMIT \(Self.demandLimit)
                """
            ).rows(fetch) { Expectation(&$0) }
        }
    }

    /// Returns why all entries of a fetch refuse these bytes, or nil if one accepts them. Reads one
    /// demand at a time, since a manifest may make a million of one URL.
    func mismatch(of digest: Digest, size: Int64, by fetch: Int64) throws -> ResourceFailure? {
        try database.unsafeRead { db in
            let accepting = try PreparedStatement(
                db,
                """
                SELECT id FROM entries WHERE (id = ?1 OR leader = ?1)
                    AND (digest IS NULL OR digest = ?2) AND (size IS NULL OR size = ?3) LIMIT 1
                """
            ).firstInteger(fetch, digest, size)
            guard accepting == nil else { return nil }
            return try PreparedStatement(
                db, "SELECT \(Expectation.columns) FROM entries e WHERE id = ?"
            ).rows(fetch) { Expectation(&$0) }.first?
            .failure(digest: digest, size: size)
        }
    }

    /// Whether an entry of a fetch names this digest.
    func names(_ digest: Digest, by fetch: Int64) throws -> Bool {
        try database.unsafeRead { db in
            try PreparedStatement(
                db, "SELECT id FROM entries WHERE (id = ?1 OR leader = ?1) AND digest = ?2 LIMIT 1"
            ).firstInteger(fetch, digest) != nil
        }
    }

    /// Calls `body` with the cached objects whose use is to be recorded, in the index's order.
    func forEachUse(_ body: ([IndexedObject]) throws -> Void) throws {
        try forEachStep("SELECT object, digest FROM uses ORDER BY object", body) { row in
            IndexedObject(row: row.integer(), digest: try row.requireDigest())
        }
    }

    /// Calls `body` with the spellings of URLs that differ from their resources' keys, in pages.
    /// Leaves out those of entries with a key of their own, which are not looked up by URL.
    func forEachSpelling(_ body: ([Spelling]) throws -> Void) throws {
        let select = """
            SELECT s.text, f.key FROM main.spellings s JOIN entries e ON e.id = s.entry
                JOIN entries f ON f.id = coalesce(e.leader, e.id)
            WHERE e.url IS NULL AND f.key IS NOT NULL ORDER BY s.entry
            """
        try forEachStep(select, body) { row in
            Spelling(try row.requireText(), of: try row.requireText())
        }
    }

    private func forEachStep<Row>(
        _ select: String, _ body: ([Row]) throws -> Void, row: (inout RowReader) throws -> Row
    ) throws {
        try database.unsafeRead { db in
            var page: [Row] = []
            try PreparedStatement(db, select).forEach {
                page.append(try row(&$0))
                guard page.count == ObjectUse.stepLimit else { return }
                try body(page)
                page.removeAll(keepingCapacity: true)
            }
            if !page.isEmpty { try body(page) }
        }
    }

    /// Turns SQLite errors of the plan's file into ``CacheError``, so that a full disk is named.
    static func translatingErrors<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw CacheError(index: "the plan", error)
        }
    }
}

/// What is asked for of what is cached or has failed before.
public struct PlanPolicy: Sendable, Equatable {
    /// Which cached resources are asked for again. Default: stale ones.
    public var revalidation = Revalidation.stale
    /// How long a permanent failure (404, 410) prevents another request.
    /// Zero asks every time. Default: an hour.
    public var failureLifetime: Duration = .seconds(3600)
    /// Whether only what failed before is fetched, permanent failures included. Default: false.
    public var retriesOnlyFailed = false
    /// Whether no request is made. Cached resources count as fresh, missing ones fail. Default: no.
    public var isOffline = false

    /// The defaults.
    public init() {}
}

/// Which cached resources are asked for again.
public enum Revalidation: String, Sendable, CaseIterable {
    /// Those that are no longer fresh (RFC 9111, section 4.2).
    case stale
    /// All except fresh `immutable` ones (RFC 8246). Intermediate caches must ask, too.
    case always
    /// None. Overrides `must-revalidate`, `no-cache` and `Vary`.
    case never
}
