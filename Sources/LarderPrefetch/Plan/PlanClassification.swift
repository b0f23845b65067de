import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest
import Synchronization

/// The planning step that merges the entries of each resource and compares resources with a cache's
/// index. Resources are looked up in key order, because random lookups take much longer.
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
    /// The first digest and size that an entry of the current resource requires.
    private var firstDigest: (value: Digest, entry: Int64)?
    private var firstSize: (value: Int64, entry: Int64)?
    /// Nil if the cache has no resources, or no failures.
    private let selectKnown: PreparedStatement?
    private let selectFailure: PreparedStatement?

    init(of builder: PlanBuilder, manifests: [String], by planner: Planner) throws {
        let db = builder.db
        self.db = db
        self.manifests = manifests
        self.planner = planner
        summary = builder.summary
        pending = PendingFetches(upTo: builder.lastID, areInOrder: builder.areInOrder)
        let cache = planner.cache?.indexURI == nil ? nil : planner.cache
        self.cache = cache
        presence = cache?.presence
        func lookup(in table: String, _ select: String) throws -> PreparedStatement? {
            guard cache != nil,
                try db.prepared("SELECT 1 FROM cache.\(table) LIMIT 1").firstInteger() != nil
            else { return nil }
            return try db.prepared(select)
        }
        // Only `always` needs the directives, to find immutable responses.
        let directives = planner.policy.revalidation == .always ? "r.cache_control" : "NULL"
        selectKnown = try lookup(
            in: "resources",
            """
            SELECT \(NamedResource.Known.columns(at: now, directives: directives))
            FROM cache.resources r CROSS JOIN cache.objects o ON o.id = r.object WHERE r.key = ?
            """)
        selectFailure = try lookup(
            in: "failures",
            "SELECT code, status, failed_at, count, url FROM cache.failures WHERE key = ?")
    }

    func apply() throws {
        if let cache, try cache.listFormerKeys(in: db) {
            try db.execute(
                sql: """
                    UPDATE main.entries SET url = coalesce(url, entries.key), key = f.former
                    FROM main.former_keys f WHERE f.key = entries.key
                    """)
        }
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
            let keyColumn = row.value()
            let isNext = current == nil || !keyColumn.withBytes { $0.elementsEqual(key) }
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
        let known: NamedResource.Known? =
            try selectKnown?.rows(keyColumn) { NamedResource.Known(&$0) }.first ?? nil
        if let known, ResourceKey.mayName(known.digest, key) { resource.known = known }
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

    /// Looks up a page's objects on another thread. Returns a function that waits for the result
    /// and settles the page.
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
            let found = try arePresent.withLock { $0 }.get()
            let present = Set(zip(wanted, found).filter(\.1).map(\.0))
            for (place, resource) in page.enumerated() {
                try settle(resource, present.contains(place) ? resource.known : nil)
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

    /// Fails only the entries that require a digest or size, because two of them conflict.
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
