import GRDB
import LarderCache
import LarderCore
import LarderManifest

extension Plan {
    /// Calls `body` with each fetch's index and its entries, a page at a time, the leader first.
    func forEachEntry(of fetches: [Int64], _ body: (Int, [PlannedEntry]) throws -> Void) throws {
        guard !fetches.isEmpty else { return }
        let leaders = try read(Self.selectLeader) { select in
            try fetches.map { fetch in try select.rows(fetch) { try entry(&$0) } }
        }
        for (index, leader) in leaders.enumerated() where !leader.isEmpty {
            try body(index, leader)
            guard hasFollowers else { continue }
            let fetch = fetches[index]
            try forEachPage { (page: [PlannedEntry]) in
                try body(index, page)
            } reading: { db, last in
                try db.prepared(Self.selectFollowers).rows(fetch, last?.id ?? fetch) {
                    try entry(&$0)
                }
            }
        }
    }

    /// Calls `body` with entries that need no fetch. Must precede ``releaseIndex()`` and fetching.
    func forEachSettledEntry(
        includesCached: Bool = true, _ body: ([PlannedEntry]) throws -> Void
    ) throws {
        let cachedURLs = includesCached ? summary.urls - summary.missing - summary.stale : 0
        guard cachedURLs + summary.failed + summary.skipped > 0 else { return }
        try forEachEntry(
            includesCached && hasIndex ? Self.selectEntryWithObject : Self.selectEntry,
            where: includesCached
                ? "TRUE" : "(e.key IS NULL OR e.code IS NOT NULL OR s.fetch IS NOT NULL)",
            arePending: false, body)
    }

    /// Calls `body` with each entry, in manifest order. Must be called before ``releaseIndex()``.
    func forEachEntry(in db: Database, _ body: (PlannedEntry) throws -> Void) throws {
        let select = hasIndex ? Self.selectEntryWithObject : Self.selectEntry
        try db.prepared(select + " ORDER BY e.id").forEach { row in
            var entry = try entry(&row)
            // An icon with a damaged row already counts as missing.
            entry.object = try? row.optional { try StoredObject(&$0) }
            try body(entry)
        }
    }

    func forEachUnfinishedEntry(_ body: ([PlannedEntry]) throws -> Void) throws {
        guard pending.withLock({ $0.count > 0 }) else { return }
        try forEachEntry(Self.selectEntry, arePending: true, body)
    }

    func forEachEntryInFetchOrder(_ body: ([PlannedEntry]) throws -> Void) throws {
        var last: PlannedResource.Place?
        while case let page = try places(after: last), !page.isEmpty {
            last = page.last
            try forEachEntry(of: page.map(\.fetch)) { _, entries in try body(entries) }
        }
    }

    private func forEachEntry(
        _ select: String, where condition: String = "TRUE", arePending: Bool,
        _ body: ([PlannedEntry]) throws -> Void
    ) throws {
        let select = "\(select) WHERE e.id > ? AND \(condition) ORDER BY e.id"
        try forEachPage(body) { db, last in
            let rows = try db.prepared(select)
            try rows.bind(last?.id ?? 0)
            defer { rows.reset() }
            var page: [PlannedEntry] = []
            while page.count < Self.pageLimit, var row = try rows.next() {
                let id = row.integer()
                let pending = row.optionalInteger().flatMap { pendingStatus(of: $0) }
                guard (pending != nil) == arePending else { continue }
                var entry = try entry(id, pending, &row)
                entry.object = try row.optional { try StoredObject(&$0) }
                page.append(entry)
            }
            return page
        }
    }

    /// With larger pages, the allocator would map and unmap memory for each page.
    static let pageLimit = 512

    /// Calls `body`, which may use the database, with pages until one is shorter than the limit.
    func forEachPage<Row>(
        _ body: ([Row]) throws -> Void, reading next: (Database, _ last: Row?) throws -> [Row]
    ) throws {
        var page: [Row] = []
        repeat {
            page = try database.unsafeRead { [last = page.last] in try next($0, last) }
            if !page.isEmpty { try body(page) }
        } while page.count == Self.pageLimit
    }

    private static let selectEntry = select()
    private static let selectEntryWithObject = select(
        ", \(StoredObject.columns)",
        "LEFT JOIN cache.resources r ON r.key = f.key LEFT JOIN cache.objects o ON o.id = r.object")
    private static let selectLeader = selectEntry + " WHERE e.id = ?"
    private static let selectFollowers =
        selectEntry + " WHERE e.leader = ? AND e.id > ? ORDER BY e.id LIMIT \(pageLimit)"

    static func select(_ columns: String = "", _ more: String = "") -> String {
        """
        SELECT e.id, f.id, iif(f.id, coalesce(s.status, 'cached'), NULL),
            x.code, x.status, x.failed_at, x.count,
            e.message, e.code, f.url, f.key, f.credentials IS NOT NULL, e.manifest, e.position,
            e.icon, e.name, e.leader IS NOT NULL, f.priority,
            \(Expectation.columns)\(columns)
        FROM entries e
            LEFT JOIN entries f ON f.id = coalesce(e.leader, e.id) AND f.key IS NOT NULL
            LEFT JOIN settled s ON s.fetch = f.id
            LEFT JOIN main.failures x ON x.fetch = f.id \(more)
        """
    }

    func entry(_ row: inout RowReader) throws -> PlannedEntry {
        let (id, fetch) = (row.integer(), row.optionalInteger())
        return try entry(id, fetch.flatMap { pendingStatus(of: $0) }, &row)
    }

    private func entry(
        _ id: Int64, _ pending: PlanStatus?, _ row: inout RowReader
    ) throws -> PlannedEntry {
        let settled = row.text().flatMap(PlanStatus.init(rawValue:))
        let status = pending ?? settled
        let hasFailed = !row.isNull
        let pastFailure = PastFailure(&row)
        let lastFailure = hasFailed ? pastFailure : nil
        let (message, code) = (row.text(), row.text())
        return PlannedEntry(
            url: ResourceKey.shownURL(row.text(), key: row.text(), hasCredentials: row.bool()),
            manifest: manifests[Int(row.integer())], position: Int(row.integer()),
            icon: Int(row.integer()), name: row.text() ?? "", status: status,
            isDuplicate: row.bool(), priority: Int(row.integer()),
            failure: failure(message, code, status, lastFailure), lastFailure: lastFailure,
            id: id, expectation: Expectation(&row))
    }

    private func failure(
        _ message: String?, _ code: String?, _ status: PlanStatus?, _ lastFailure: PastFailure?
    ) -> EntryFailure? {
        if let message {
            let isUnfetched = IconValue.Kind.unfetched.contains { $0.rawValue == code }
            return EntryFailure(
                isSkip: code == nil || isUnfetched, code: code ?? "no-icon", message: message)
        }
        return switch (status, lastFailure) {
        case (.failed, let failure?):
            EntryFailure(
                isSkip: false, code: failure.code,
                message: "\(failure.reason) \(failure.age) ago; use --retry-gone to try again")
        case (.skipped, _): .notFailedBefore
        case (.unavailable, _): .offline
        default: nil
        }
    }
}

/// The plan for one icon, or for an entry without an icon.
public struct PlannedEntry: Sendable {
    /// The icon's URL with masked credentials, or nil if it has no URL.
    public let url: String?
    /// The manifest's name, as given by the caller.
    public let manifest: String
    /// The entry's position in the manifest, from 1.
    public let position: Int
    /// The icon's position in its entry, from 1. Also 1 for an entry without an icon.
    public let icon: Int
    /// The app's name. Untrusted text.
    public let name: String
    /// The resource's status, or nil for an entry without a resource.
    public let status: PlanStatus?
    /// Whether an earlier entry names the same resource.
    public let isDuplicate: Bool
    /// The highest priority of the entries that name the resource.
    public let priority: Int
    /// The reason why the entry is skipped or fails.
    public let failure: EntryFailure?
    /// The failure of the resource's last fetch, if it failed.
    public let lastFailure: PastFailure?

    var object: StoredObject?
    let id: Int64
    let expectation: Expectation

    package var statusWord: String {
        if let failure { return failure.isSkip ? "skipped" : "failed" }
        return (status ?? .missing).rawValue
    }
}

/// The reason why an entry fails or is skipped.
public struct EntryFailure: Sendable, Equatable {
    /// Whether the entry has no icon, its icon's kind is never fetched, or the run leaves it out.
    public let isSkip: Bool
    /// The name of the reason, for example `unparsable-url`.
    public let code: String
    /// A description that is safe to print to a terminal.
    public let message: String

    static let offline = EntryFailure(
        isSkip: false, code: "offline",
        message: "not in the cache, or not with the required digest and size; downloads are"
            + " turned off; a prefetch without --offline downloads the icon")

    static let notFailedBefore = EntryFailure(
        isSkip: true, code: "not-failed-before",
        message: "has not failed before; --retry-failed fetches only failed icons")
}
