import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest
import Synchronization

/// The entries of manifests and the resources to fetch, in a temporary database to limit memory.
/// Each icon of an entry is a row, in manifest order. The first row of a resource is its leader,
/// whose number identifies the fetch. Its later rows are followers.
package final class Plan: Sendable {
    let manifests: [String]
    package let summary: PlanSummary
    let origins: [String]
    let hasIndex: Bool
    let seal = CredentialSeal()
    let pending: Mutex<PendingFetches>
    let hasFollowers: Bool
    /// Read without transactions, because they make SQLite recompile all statements. No other
    /// connection uses the database.
    let database: DatabaseQueue

    init(
        of manifests: [ManifestSource], by planner: Planner, at path: String? = nil,
        keepsValues: Bool = false, isCancelled: () -> Bool = { false },
        onProgress: @escaping (PlanProgress) -> Void = { _ in }
    ) throws {
        self.manifests = manifests.map(\.name)
        hasIndex = planner.cache?.indexURI != nil
        // Reads the first manifest while the tables are created.
        let feed = ManifestFeed(manifests, rules: planner.rules, sendsValues: keepsValues)
        defer { feed.close() }
        database = try Cache.scratchDatabase(at: path, beside: planner.cache)
        let toFetch: PendingFetches
        (summary, origins, toFetch, hasFollowers) = try database.writeWithoutTransaction {
            [seal] db in
            try db.execute(sql: Plan.tables)
            var builder = try PlanBuilder(for: db, shard: planner.shard, sealingWith: seal)
            let start = ContinuousClock.now
            var progress = PlanProgress()
            var (manifestStart, lastShown) = (start, start)
            func show(_ manifest: String?, adding icons: Int? = nil, share: Double? = nil) {
                let now = ContinuousClock.now
                if icons == nil { manifestStart = now }
                (progress.manifest, progress.share) = (manifest, share)
                progress.icons += icons ?? 0
                guard icons == nil || now - lastShown >= .milliseconds(200) else { return }
                lastShown = now
                progress.seconds = (now - start) / .seconds(1)
                progress.secondsOfManifest = (now - manifestStart) / .seconds(1)
                onProgress(progress)
            }
            try db.inTransaction {
                while case let messages = try feed.next(unless: isCancelled), !messages.isEmpty {
                    for message in messages {
                        if isCancelled() { throw CancellationError() }
                        switch message {
                        case .begin(let number): show(manifests[number].name)
                        case .items(let items, let values, let number, let share):
                            show(manifests[number].name, adding: items.count, share: share)
                            for item in items { try builder.add(item, of: number) }
                            for (position, value) in values {
                                try builder.add(value, at: position, of: number)
                            }
                        case .end(let summary):
                            let source = manifests[builder.summary.manifests.count]
                            if let error = summary.refusalIfAllWereRead(of: source) { throw error }
                            builder.add(summary)
                        }
                    }
                }
                return .commit
            }
            show(nil)
            let classification = try PlanClassification(
                of: builder, manifests: manifests.map(\.name), by: planner)
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

    // Updating another index on `entries` would take most of the planning time.
    private static let tables = """
        PRAGMA main.cache_size = -1536; -- KiB; a sort uses as much again
        CREATE TABLE main.entries (
            id INTEGER PRIMARY KEY, manifest INTEGER NOT NULL, position INTEGER NOT NULL,
            icon INTEGER NOT NULL,     -- position in its entry, from 1
            name TEXT,
            key TEXT,                  -- of the resource; NULL if there is nothing to fetch
            url TEXT,                  -- NULL if it equals the key, or for inline bytes
            credentials BLOB,          -- sealed
            origin INTEGER,
            priority INTEGER NOT NULL DEFAULT 0,  -- of a leader: the highest of its resource
            digest BLOB, size INTEGER,
            leader INTEGER,            -- NULL for a leader
            code TEXT,                 -- of the failure, or the kind of a value that is not
                                       -- fetched; NULL for an entry without an icon
            message TEXT
        );
        CREATE INDEX main.followers ON entries (leader) WHERE leader IS NOT NULL;
        CREATE TABLE main.failures (   -- from previous runs
            fetch INTEGER PRIMARY KEY, code TEXT NOT NULL, status INTEGER, failed_at REAL NOT NULL,
            count INTEGER NOT NULL);
        CREATE TABLE main.inline (     -- icons that manifests contain as data: URLs
            fetch INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL);
        CREATE TABLE main.files (      -- the places of relative icons, the most likely first
            entry INTEGER PRIMARY KEY, name TEXT NOT NULL, other TEXT);
        CREATE TABLE main.icon_values (  -- at all icon places, in the order of entries
            id INTEGER PRIMARY KEY, manifest INTEGER NOT NULL, position INTEGER NOT NULL,
            kind TEXT NOT NULL, text TEXT NOT NULL, start INTEGER NOT NULL);
        CREATE TABLE main.locked (     -- objects of entries, for a lock file
            entry INTEGER PRIMARY KEY, digest BLOB NOT NULL, size INTEGER NOT NULL,
            media_type TEXT);
        CREATE TABLE main.settled (    -- resources that are not cached and not fetched
            fetch INTEGER PRIMARY KEY, status TEXT NOT NULL);
        CREATE TABLE main.spellings (  -- URLs as written, if that is not the canonical form
            entry INTEGER PRIMARY KEY, text TEXT NOT NULL);
        CREATE TABLE main.uses (       -- cached objects with a use to record
            object INTEGER NOT NULL, digest BLOB NOT NULL);
        """

    /// Detaches the cache's index. Other connections must close later, because the last to close
    /// checkpoints the log, and this connection is read-only.
    func releaseIndex() throws {
        try database.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA main.cache_size = -1024; PRAGMA shrink_memory")
            if hasIndex { try db.execute(sql: "DETACH DATABASE cache") }
        }
    }

    /// Calls `body` with one inline icon at a time, to limit memory.
    func forEachInline(_ body: (_ fetch: Int64, _ key: String, Data) throws -> Void) throws {
        try forEachPage { (page: [Int64]) in
            for fetch in page where pendingStatus(of: fetch) != nil {
                let inline = try read("SELECT key, bytes FROM inline WHERE fetch = ?") {
                    try $0.rows(fetch) { ($0.text() ?? "", $0.data() ?? Data()) }
                }
                for (key, bytes) in inline { try body(fetch, key, bytes) }
            }
        } reading: { db, last in
            try db.prepared("SELECT fetch FROM inline WHERE fetch > ? ORDER BY fetch LIMIT ?")
                .rows(last ?? 0, Self.pageLimit) { $0.integer() }
        }
    }

    /// Returns the leader's mismatch if no entry of the fetch accepts the digest and size. Does not
    /// load all entries, because one URL may have a million.
    func mismatch(of digest: Digest, size: Int64, by fetch: Int64) throws -> ResourceFailure? {
        try database.unsafeRead { db in
            let accepting = try db.prepared(
                """
                SELECT id FROM entries WHERE (id = ?1 OR leader = ?1)
                    AND (digest IS NULL OR digest = ?2) AND (size IS NULL OR size = ?3) LIMIT 1
                """
            ).firstInteger(fetch, digest, size)
            guard accepting == nil else { return nil }
            return try db.prepared("SELECT \(Expectation.columns) FROM entries e WHERE id = ?")
                .rows(fetch) { Expectation(&$0) }.first?.failure(digest: digest, size: size)
        }
    }

    func names(_ digest: Digest, by fetch: Int64) throws -> Bool {
        let select = "SELECT id FROM entries WHERE (id = ?1 OR leader = ?1) AND digest = ?2 LIMIT 1"
        return try read(select) { try $0.firstInteger(fetch, digest) != nil }
    }

    /// Calls `body` with objects in the order of their rows, so that each page is written once.
    func forEachUse(_ body: ([IndexedObject]) throws -> Void) throws {
        try forEachStep("SELECT object, digest FROM uses ORDER BY object", body) { row in
            (row: row.integer(), digest: try row.requireDigest())
        }
    }

    /// Calls `body` with URLs as spelled in manifests. Omits entries with an explicit key, because
    /// apps look up their icons by key.
    func forEachSpelling(_ body: ([Spelling]) throws -> Void) throws {
        let select = """
            SELECT s.text, f.key FROM main.spellings s JOIN entries e ON e.id = s.entry
                JOIN entries f ON f.id = coalesce(e.leader, e.id)
            WHERE e.url IS NULL AND f.key IS NOT NULL ORDER BY s.entry
            """
        try forEachStep(select, body) { row in
            (text: try row.requireText(), key: try row.requireText())
        }
    }

    func read<Value>(_ query: String, _ body: (PreparedStatement) throws -> Value) throws -> Value {
        try database.unsafeRead { db in try body(db.prepared(query)) }
    }

    private func forEachStep<Row>(
        _ select: String, _ body: ([Row]) throws -> Void, row: (inout RowReader) throws -> Row
    ) throws {
        try database.unsafeRead { db in
            var page: [Row] = []
            try db.prepared(select).forEach {
                page.append(try row(&$0))
                guard page.count == ObjectUse.stepLimit else { return }
                try body(page)
                page.removeAll(keepingCapacity: true)
            }
            if !page.isEmpty { try body(page) }
        }
    }
}

/// The rules that decide which resources a run fetches.
public struct PlanPolicy: Sendable, Equatable {
    /// The cached resources to revalidate. Default: stale ones.
    public var revalidation = Revalidation.stale
    /// The time during which a permanent failure (404, 410) prevents requests. Default: 1 hour.
    public var failureLifetime: Duration = .seconds(3600)
    /// Whether to fetch all resources from their origins unconditionally, regardless of the cache,
    /// permanent failures and a remote. Default: false.
    public var fetchesAll = false
    /// Whether to fetch only resources whose last fetch failed, even permanently. Default: false.
    public var retriesOnlyFailed = false
    /// Whether to make no requests. Cached resources then count as fresh, and missing resources
    /// fail. With a read-only cache, missing icons from `data:` URLs fail too. Default: false.
    public var isOffline = false

    /// Creates a policy with default values.
    public init() {}
}

/// The cached resources that a run revalidates.
public enum Revalidation: String, Sendable, CaseIterable {
    /// Resources that are not fresh (RFC 9111, section 4.2).
    case stale
    /// All resources except fresh `immutable` ones (RFC 8246). Intermediate caches revalidate too.
    case always
    /// No resources. Overrides `must-revalidate`, `no-cache` and `Vary`.
    case never
}
