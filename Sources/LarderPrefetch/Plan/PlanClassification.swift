import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest
import Synchronization

/// The planning step that merges the entries of each resource and compares resources with a cache's
/// index. Entries and index are read once, in key order, because random lookups take much longer.
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
    private var recall: ResourceRecall?
    private var demands = Demands(leader: 0)
    private let recallFailure: PreparedStatement?
    private let setLeader: PreparedStatement
    private let insertSettled: PreparedStatement
    private let insertUse: PreparedStatement

    /// With larger pages, the allocator would map and unmap memory for each page.
    static let pageLimit = 512

    init(
        of db: Database, manifests: [String], by planner: Planner, _ summary: PlanSummary,
        pending: PendingFetches
    ) throws {
        self.db = db
        self.manifests = manifests
        self.planner = planner
        self.summary = summary
        self.pending = pending
        cache = planner.cache?.indexURI == nil ? nil : planner.cache
        presence = cache?.presence
        setLeader = try db.prepared("UPDATE entries SET leader = ? WHERE id = ?")
        insertSettled = try db.prepared("INSERT INTO settled VALUES (?, ?)")
        insertUse = try db.prepared("INSERT INTO uses VALUES (?, ?)")
        recall = cache == nil ? nil : try ResourceRecall(db, at: now, policy: planner.policy)
        let hasFailures =
            try cache != nil
            && db.prepared("SELECT 1 FROM cache.failures LIMIT 1").firstInteger() != nil
        let failure = "SELECT code, status, failed_at, count, url FROM cache.failures WHERE key = ?"
        recallFailure = hasFailures ? try db.prepared(failure) : nil
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
            let id: Int64
            if isNext {
                keyColumn.withBytes { key.replaceSubrange(key.indices, with: $0) }
                if let resource = current { page.append(resource) }
                if page.count == Self.pageLimit {
                    try settleLast?()
                    settleLast = look(for: page)
                    page = []
                    page.reserveCapacity(Self.pageLimit)
                }
                let next = try resource(&row, keyColumn, key: key)
                id = next.id
                current = next
            } else {
                id = try follow(&current, &row)
            }
            try demand(&current, Expectation(&row), by: id)
            current?.icons += 1
            if row.bool() { current?.entries += 1 }
        }
        if let current { page.append(current) }
        try settleLast?()
        try look(for: page)()
    }

    private func resource(
        _ row: inout RowReader, _ keyColumn: RowReader.Column, key: [UInt8]
    ) throws -> NamedResource {
        var resource = NamedResource(
            id: row.integer(), url: row.text(), hasCredentials: row.bool(),
            priority: row.integer())
        resource.known = try recall?.known(for: key, keyColumn)
        resource.lastFailure =
            try recallFailure?.rows(keyColumn, as: NamedResource.Failure.init).first
        if resource.known?.variant != nil || resource.lastFailure != nil {
            resource.key = keyColumn.text
        }
        return resource
    }

    /// Merges a follower's priority and credentials into its leader. Returns the follower's number.
    private func follow(_ current: inout NamedResource?, _ row: inout RowReader) throws -> Int64 {
        let (id, url, hasCredentials) = (row.integer(), row.text(), row.bool())
        let priority = row.integer()
        guard let leader = current else { return id }
        hasFollowers = true
        try setLeader.run(leader.id, id)
        if priority > leader.priority {
            current?.priority = priority
            try db.prepared("UPDATE entries SET priority = ? WHERE id = ?").run(priority, leader.id)
        }
        if !leader.hasCredentials, hasCredentials, url == leader.url {
            current?.hasCredentials = true
            try db.prepared(
                """
                UPDATE entries SET credentials = (SELECT credentials FROM entries WHERE id = ?)
                WHERE id = ?
                """
            ).run(id, leader.id)
        }
        return id
    }

    private func demand(
        _ current: inout NamedResource?, _ expectation: Expectation, by entry: Int64
    ) throws {
        guard expectation.isDemanding, var resource = current else { return }
        defer { current = resource }
        if demands.leader != resource.id { demands = Demands(leader: resource.id) }
        if let first = demands.add(expectation, by: entry), resource.conflict == nil,
            try !isInline(resource)
        {
            resource.conflict = (first, entry)
        }
        guard let known = resource.known else { return }
        // In a conflict, entries with a requirement fail. Entries without one accept any bytes.
        resource.known?.isAsDemanded =
            resource.conflict != nil
            || known.isAsDemanded
                && expectation.mismatch(digest: known.digest, size: known.size) == nil
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
        if let failure = resource.lastFailure?.failure {
            try db.prepared("INSERT INTO main.failures VALUES (?, ?, ?, ?, ?)").run(
                resource.id, failure.code, failure.status,
                failure.failedAt.timeIntervalSince1970, failure.count)
        }
        if let conflict = resource.conflict { try reject(&resource, conflict) }
        if resource.icons == 0 {
            try insertSettled.run(resource.id, PlanStatus.failed.rawValue)
        } else if let known, resource.mayBeUsed(known, policy: policy, headers: planner.headers) {
            summary.cached += 1
            summary.cachedIcons += resource.icons
            summary.cachedEntries += resource.entries
            // The use of a stale object is recorded when the response arrives.
            if known.isUseDue { try insertUse.run(known.object, known.digest) }
        } else if policy.isOffline {
            // An icon from a `data:` URL needs no download, but must be stored.
            if planner.cache?.isReadOnly != true, try isInline(resource) {
                return want(resource, nil)
            }
            try insertSettled.run(resource.id, PlanStatus.unavailable.rawValue)
            summary.unavailable += 1
            summary.failed += resource.icons
        } else if policy.retriesOnlyFailed, resource.lastFailure == nil {
            try insertSettled.run(resource.id, PlanStatus.skipped.rawValue)
            summary.leftAlone += 1
            summary.skipped += resource.icons
        } else if !policy.retriesOnlyFailed, resource.isGivenUp(at: now, policy: policy) {
            try insertSettled.run(resource.id, PlanStatus.failed.rawValue)
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

private struct Demands {
    let leader: Int64
    var digest: (value: Digest, entry: Int64)?
    var size: (value: Int64, entry: Int64)?

    /// Adds requirements. Returns an earlier entry with a different requirement, or nil.
    mutating func add(_ expectation: Expectation, by entry: Int64) -> Int64? {
        var other: Int64?
        if let value = expectation.size {
            if let size, size.value != value { other = size.entry }
            size = size ?? (value, entry)
        }
        if let value = expectation.digest {
            if let digest, digest.value != value { other = digest.entry }
            digest = digest ?? (value, entry)
        }
        return other
    }
}

/// A lookup of ascending keys. Most keys exist, so stepping from row to row takes half the time of
/// separate lookups.
struct ResourceRecall {
    private static let stepLimit = 2

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
        var passed = 0
        while let row {
            let order = Self.order(of: row, key)
            if order == 0 { return Self.known(row, as: key) }
            // After a greater key, looks up again, because a damaged row may have a wrong key.
            guard order < 0, passed < Self.stepLimit else { break }
            passed += 1
            self.row = try rows.next()
        }
        guard !isAtEnd else { return nil }
        try rows.bind(column)
        row = try rows.next()
        isAtEnd = row == nil
        guard let row, Self.order(of: row, key) == 0 else { return nil }
        return Self.known(row, as: key)
    }

    private static func known(_ row: RowReader, as key: [UInt8]) -> NamedResource.Known? {
        var row = row
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
