import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest
import Synchronization

/// The planning step that merges the entries of each resource and compares resources with a cache's
/// index. It reads entries and index rows once, in key order, because random lookups take longer.
final class PlanClassification {
    private let cache: Cache?
    private let presence: ObjectPresence?
    private let manifests: [String]
    private let planner: Planner
    private let now = Date()
    private let db: Database
    private(set) var summary: PlanSummary
    private(set) var pending: PendingFetches
    private(set) var hasFollowers = false
    private var firstDigest: (value: Digest, entry: Int64)?
    private var firstSize: (value: Int64, entry: Int64)?
    private var recall: ResourceRecall?
    private let selectFailure: PreparedStatement?

    init(of builder: PlanBuilder, manifests: [String], by planner: Planner) throws {
        let db = builder.db
        (self.db, self.manifests, self.planner) = (db, manifests, planner)
        summary = builder.summary
        pending = PendingFetches(upTo: builder.lastID, areInOrder: builder.areInOrder)
        cache = planner.cache?.indexURI == nil ? nil : planner.cache
        presence = cache?.presence
        recall = cache == nil ? nil : try ResourceRecall(db, at: now, policy: planner.policy)
        let hasFailures =
            try cache != nil
            && db.prepared("SELECT 1 FROM cache.failures LIMIT 1").firstInteger() != nil
        let failure = "SELECT code, status, failed_at, count, url FROM cache.failures WHERE key = ?"
        selectFailure = hasFailures ? try db.prepared(failure) : nil
    }

    func apply() throws {
        if let cache, try cache.listFormerKeys(in: db) {
            try db.execute(
                sql: """
                    UPDATE main.entries SET url = coalesce(url, entries.key), key = f.former
                    FROM main.former_keys f WHERE f.key = entries.key
                    """)
        }
        defer { recall?.close() }
        // The next page is read while another thread looks up the current one.
        var settleLast: (() throws -> Void)?
        var page: [NamedResource] = []
        var current: NamedResource?
        var key: [UInt8] = []
        try db.prepared(
            """
            SELECT key, id, url, credentials IS NOT NULL, priority, \(Expectation.columns), icon = 1
            FROM main.entries e WHERE key IS NOT NULL ORDER BY key, id
            """
        ).forEach { row in
            let isNext = current == nil || ResourceRecall.order(of: row, key) != 0
            let keyColumn = row.value()
            let icon = NamedResource(
                id: row.integer(), url: row.text(), hasCredentials: row.bool(),
                priority: row.integer())
            if isNext {
                keyColumn.withBytes { key.replaceSubrange(key.indices, with: $0) }
                if let resource = current { page.append(resource) }
                if page.count == Plan.pageLimit {
                    try settleLast?()
                    settleLast = look(for: page)
                    page = []
                    page.reserveCapacity(Plan.pageLimit)
                }
                current = try recalled(icon, keyColumn, key: key)
                (firstDigest, firstSize) = (nil, nil)
            } else {
                try merge(icon, into: &current)
            }
            try demand(&current, Expectation(&row), by: icon.id)
            current?.icons += 1
            if row.bool() { current?.entries += 1 }
        }
        if let current { page.append(current) }
        try settleLast?()
        try look(for: page)()
    }

    private func recalled(
        _ resource: NamedResource, _ keyColumn: RowReader.Column, key: [UInt8]
    ) throws -> NamedResource {
        var resource = resource
        resource.known = try recall?.known(for: key, keyColumn)
        if resource.known?.variant != nil { resource.key = keyColumn.text }
        let failures = try selectFailure?.rows(keyColumn) { (PastFailure(&$0), $0.text()) }
        if let (failure, url) = failures?.first {
            try db.prepared("INSERT INTO main.failures VALUES (?, ?, ?, ?, ?)").run(
                resource.id, failure.code, failure.status,
                failure.failedAt.timeIntervalSince1970, failure.count)
            resource.hasFailed = true
            let (key, age) = (keyColumn.text, now.timeIntervalSince(failure.failedAt))
            // A failure dated in the future is not recent.
            resource.isGivenUp =
                PastFailure.permanentStatuses.contains(failure.status ?? 0) && age >= 0
                && age < planner.policy.failureLifetime / .seconds(1)
                && (url ?? key) == (resource.url ?? key)
        }
        return resource
    }

    private func merge(_ follower: NamedResource, into current: inout NamedResource?) throws {
        guard let leader = current else { return }
        hasFollowers = true
        try db.prepared("UPDATE entries SET leader = ? WHERE id = ?").run(leader.id, follower.id)
        if follower.priority > leader.priority {
            current?.priority = follower.priority
            try db.prepared("UPDATE entries SET priority = ? WHERE id = ?")
                .run(follower.priority, leader.id)
        }
        if !leader.hasCredentials, follower.hasCredentials, follower.url == leader.url {
            current?.hasCredentials = true
            try db.prepared(
                """
                UPDATE entries SET credentials = (SELECT credentials FROM entries WHERE id = ?)
                WHERE id = ?
                """
            ).run(follower.id, leader.id)
        }
    }

    private func demand(
        _ current: inout NamedResource?, _ expectation: Expectation, by entry: Int64
    ) throws {
        guard expectation.isDemanding, let resource = current else { return }
        var other: Int64?
        if let size = expectation.size {
            if let firstSize, firstSize.value != size { other = firstSize.entry }
            firstSize = firstSize ?? (size, entry)
        }
        if let digest = expectation.digest {
            if let firstDigest, firstDigest.value != digest { other = firstDigest.entry }
            firstDigest = firstDigest ?? (digest, entry)
        }
        if let other, resource.conflict == nil, try !isInline(resource) {
            current?.conflict = (other, entry)
        }
        guard let known = resource.known else { return }
        // In a conflict, entries with a requirement fail. Entries without one accept any bytes.
        let isAsDemanded =
            current?.conflict != nil
            || known.isAsDemanded
                && expectation.mismatch(digest: known.digest, size: known.size) == nil
        current?.known?.isAsDemanded = isAsDemanded
    }

    private func isInline(_ resource: NamedResource) throws -> Bool {
        try db.prepared("SELECT 1 FROM inline WHERE fetch = ?").firstInteger(resource.id) != nil
    }

    private static let lookups = DispatchQueue(label: "larder.presence")

    /// Looks up a page's objects on another thread. The returned function waits for the result and
    /// settles the page's resources.
    private func look(for page: [NamedResource]) -> () throws -> Void {
        let wanted = page.indices.filter { place in
            guard let known = page[place].known else { return false }
            return known.isAsDemanded && (planner.acceptsAnyContent || known.isImage)
        }
        let arePresent = Mutex<Result<[Bool], CacheError>>(.success([]))
        let lookup = DispatchGroup()
        if let presence, !wanted.isEmpty {
            let objects = wanted.compactMap { page[$0].known.map { ($0.digest, $0.size) } }
            Self.lookups.async(group: lookup) {
                let found = Result { () throws(CacheError) in try presence.arePresent(objects) }
                arePresent.withLock { $0 = found }
            }
        }
        return { [self] in
            lookup.wait()
            let present = try arePresent.withLock { $0 }.get()
            var isPresent = [Bool](repeating: false, count: page.count)
            for (place, found) in zip(wanted, present) { isPresent[place] = found }
            for (place, resource) in page.enumerated() {
                try settle(resource, isPresent[place] ? resource.known : nil)
            }
        }
    }

    private func settle(_ resource: NamedResource, _ known: NamedResource.Known?) throws {
        var resource = resource
        let policy = planner.policy
        summary.urls += 1
        func note(_ status: PlanStatus) throws {
            try db.prepared("INSERT INTO settled VALUES (?, ?)").run(resource.id, status.rawValue)
        }
        if let conflict = resource.conflict { try reject(&resource, conflict) }
        if resource.icons == 0 {
            try note(.failed)
        } else if let known, resource.mayBeUsed(known, policy: policy, headers: planner.headers) {
            summary.cached += 1
            summary.cachedIcons += resource.icons
            summary.cachedEntries += resource.entries
            // The use of a stale object is recorded when the response arrives.
            if known.isUseDue {
                try db.prepared("INSERT INTO uses VALUES (?, ?)").run(known.object, known.digest)
            }
        } else if policy.isOffline {
            // An icon from a `data:` URL needs no download, but must be stored.
            if planner.cache?.isReadOnly != true, try isInline(resource) {
                return want(resource, nil)
            }
            try note(.unavailable)
            summary.unavailable += 1
            summary.failed += resource.icons
        } else if policy.retriesOnlyFailed, !resource.hasFailed {
            try note(.skipped)
            summary.leftAlone += 1
            summary.skipped += resource.icons
        } else if resource.isGivenUp, !policy.retriesOnlyFailed, !policy.fetchesAll {
            try note(.failed)
            summary.remembered += 1
            summary.failed += resource.icons
        } else {
            want(resource, policy.fetchesAll ? nil : known)
        }
    }

    /// Fails the entries that require a digest or size, because two of them conflict.
    private func reject(
        _ resource: inout NamedResource, _ conflict: (first: Int64, second: Int64)
    ) throws {
        let select = try db.prepared("SELECT manifest, position FROM entries WHERE id = ?")
        let places = try [conflict.first, conflict.second].flatMap { id in
            try select.rows(id) { row in
                let name = manifests[Int(row.integer())]
                // Names are shortened, because each entry in conflict stores the message.
                let end = name.utf8.count > 480 ? "…" + name.suffix(120) : name
                return "\(end.sanitizedForTerminal): entry \(row.integer())"
            }
        }
        let demanding = "(id = ?1 OR leader = ?1) AND (digest IS NOT NULL OR size IS NOT NULL)"
        try db.prepared("UPDATE entries SET code = ?2, message = ?3 WHERE \(demanding)").run(
            resource.id, EntryError.Code.integrityConflict.rawValue,
            places.joined(separator: " and ")
                + " require different bytes for this icon; correct one of them")
        let count = "SELECT count(*) FROM entries WHERE \(demanding) AND icon = 1"
        summary.failed += db.changesCount
        resource.icons -= db.changesCount
        resource.entries -= Int(try db.prepared(count).firstInteger(resource.id) ?? 0)
    }

    private func want(_ resource: NamedResource, _ stale: NamedResource.Known?) {
        pending.insert(resource.id)
        if stale != nil {
            summary.stale += 1
            pending.markStale(resource.id)
        } else {
            summary.missing += 1
        }
    }
}

/// A cursor for ascending keys. Most keys exist, so stepping takes half the time of searching.
private struct ResourceRecall {
    private let rows: PreparedStatement
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
        var steps = 0
        while let row, steps < 2, Self.order(of: row, key) < 0 {
            steps += 1
            self.row = try rows.next()
        }
        // After a greater key, looks up again, because a damaged row may have a wrong key.
        if !isAtEnd, row.map({ Self.order(of: $0, key) }) != 0 {
            try rows.bind(column)
            row = try rows.next()
            isAtEnd = row == nil
        }
        guard var row, Self.order(of: row, key) == 0 else { return nil }
        row.skip()
        return NamedResource.Known(&row).flatMap { ResourceKey.mayName($0.digest, key) ? $0 : nil }
    }

    func close() { rows.reset() }

    static func order(of row: RowReader, _ key: [UInt8]) -> Int {
        var row = row
        return row.value().withBytes { bytes in
            let order = bytes.baseAddress.map { memcmp($0, key, min(bytes.count, key.count)) } ?? 0
            return order == 0 ? bytes.count - key.count : Int(order)
        }
    }
}
