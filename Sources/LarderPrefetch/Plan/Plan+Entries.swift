import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest

extension Plan {
    /// Calls `body` with the entries of each resource, in pages, the leading one first. Its first
    /// argument is the resource's index in `fetches`.
    func forEachEntry(
        of fetches: [Int64], _ body: (Int, [PlannedEntry]) throws -> Void
    ) throws {
        guard !fetches.isEmpty else { return }
        let leaders = try database.unsafeRead { db in
            let select = try PreparedStatement(db, Self.selectLeader)
            return try fetches.map { fetch in try select.rows(fetch) { try entry(&$0) } }
        }
        for (index, leader) in leaders.enumerated() where !leader.isEmpty {
            try body(index, leader)
            guard hasFollowers else { continue }
            let fetch = fetches[index]
            try forEachPage { (page: [PlannedEntry]) in
                try body(index, page)
            } reading: { db, last in
                try PreparedStatement(db, Self.selectFollowers)
                    .rows(fetch, last?.id ?? fetch) { try entry(&$0) }
            }
        }
    }

    /// Calls `body` with every entry that needs no transfer (cached, skipped or failed), in pages,
    /// in the order of the manifests. Must be called before ``releaseIndex()``, and before a fetch
    /// is done.
    ///
    /// - Parameter areCached: Whether cached entries are included.
    func forEachSettledEntry(
        areCached: Bool = true, _ body: ([PlannedEntry]) throws -> Void
    ) throws {
        let cachedURLs = areCached ? summary.urls - summary.missing - summary.stale : 0
        guard cachedURLs + summary.failed + summary.skipped > 0 else { return }
        try forEachEntry(
            areCached && hasIndex ? Self.selectEntryWithObject : Self.selectEntry,
            where: areCached ? "TRUE" : "(e.key IS NULL OR s.fetch IS NOT NULL)",
            arePending: false, body)
    }

    func forEachUnfinishedEntry(_ body: ([PlannedEntry]) throws -> Void) throws {
        guard hasPending else { return }
        try forEachEntry(Self.selectEntry, arePending: true, body)
    }

    /// Calls `body` with the pending entries in the order of fetching, those of one URL together.
    func forEachEntryInTurn(_ body: ([PlannedEntry]) throws -> Void) throws {
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
            let rows = try PreparedStatement(db, select)
            try rows.bind(last?.id ?? 0)
            defer { rows.reset() }
            var page: [PlannedEntry] = []
            while page.count < Self.pageLimit, var row = try rows.next() {
                let id = row.integer()
                let pending = row.optionalInteger().flatMap { pendingStatus(of: $0) }
                guard (pending != nil) == arePending else { continue }
                var entry = try entry(id, pending, &row)
                // NULL, too, if no columns of an object are selected.
                entry.object = try row.optional { try StoredObject(&$0) }
                page.append(entry)
            }
            return page
        }
    }

    static let pageLimit = 512

    /// Calls `body` with each page that `next` reads, which ends with the first that is not full.
    /// `body` may use the database.
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

    private static func select(_ columns: String = "", _ more: String = "") -> String {
        """
        SELECT e.id, f.id, iif(f.id, coalesce(s.status, \(PlanStatus.cached.rawValue)), NULL),
            x.code, x.failed_at, x.count, x.status,
            e.message, e.code, f.url, f.key, f.credentials IS NOT NULL, e.manifest, e.position,
            e.icon, e.name, e.leader IS NOT NULL, f.priority,
            \(Expectation.columns)\(columns)
        FROM entries e
            LEFT JOIN entries f ON f.id = coalesce(e.leader, e.id) AND f.key IS NOT NULL
            LEFT JOIN settled s ON s.fetch = f.id
            LEFT JOIN main.failures x ON x.fetch = f.id \(more)
        """
    }

    private func entry(_ row: inout RowReader) throws -> PlannedEntry {
        let id = row.integer()
        let fetch = row.optionalInteger()
        return try entry(id, fetch.flatMap { pendingStatus(of: $0) }, &row)
    }

    private func entry(
        _ id: Int64, _ pending: PlanStatus?, _ row: inout RowReader
    ) throws -> PlannedEntry {
        let settled = row.optionalInteger().flatMap { PlanStatus(rawValue: Int($0)) }
        let status = pending ?? settled
        let failureCode = row.text()
        let failedAt = Date(timeIntervalSince1970: row.double())
        let failures = Int(row.integer())
        let failureStatus = row.optionalInteger().map(Int.init)
        let lastFailure = failureCode.map {
            PastFailure(code: $0, status: failureStatus, failedAt: failedAt, count: failures)
        }
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
            return EntryFailure(isSkip: code == nil, code: code ?? "no-icon", message: message)
        }
        return switch (status, lastFailure) {
        case (.failed, let failure?): EntryFailure(remembered: failure)
        case (.skipped, _): .notFailedBefore
        case (.unavailable, _): .offline
        default: nil
        }
    }
}

/// One icon of an entry of a manifest, or an entry without any, as the plan sees it.
public struct PlannedEntry: Sendable {
    /// The icon's URL, credentials masked; nil if the entry has none.
    public let url: String?
    /// The manifest's name, as it was given.
    public let manifest: String
    /// Its place among the manifest's elements; the first is 1.
    public let position: Int
    /// The icon's place among those of its entry; the first is 1, also if there is none.
    public let icon: Int
    /// The app's name; text from outside.
    public let name: String
    /// What has to be done for the URL; nil if the entry has none.
    public let status: PlanStatus?
    /// Whether an earlier entry asks for the same resource.
    public let isDuplicate: Bool
    /// The priority that its URL is fetched with.
    public let priority: Int
    /// Why there is nothing to do for the entry: it is skipped, or has failed.
    public let failure: EntryFailure?
    /// How its resource failed when it was last asked for; nil if it did not.
    public let lastFailure: PastFailure?

    /// The cached object, if the plan looked it up.
    var object: StoredObject?
    let id: Int64
    let expectation: Expectation

    package var statusWord: String {
        if let failure { return failure.isSkip ? "skipped" : "failed" }
        return (status ?? .missing).name
    }
}

/// Why an entry failed or was skipped.
public struct EntryFailure: Sendable, Equatable {
    /// Whether the entry was skipped: it has no icon, or is not to be fetched in this run.
    public let isSkip: Bool
    /// The reason's name, such as `unsupported-scheme`.
    public let code: String
    /// The reason in words; safe to print.
    public let message: String
}

extension EntryFailure {
    init(remembered failure: PastFailure) {
        self.init(
            isSkip: false, code: failure.code,
            message: "\(failure.reason) \(failure.age) ago, which is remembered; "
                + "--force asks again")
    }

    init(_ failure: ResourceFailure) {
        self.init(isSkip: false, code: failure.code, message: failure.message)
    }

    static let offline = EntryFailure(
        isSkip: false, code: "offline",
        message: "not in the cache, or not as the entry demands, and nothing is to be downloaded")

    static let notFailedBefore = EntryFailure(
        isSkip: true, code: "not-failed-before",
        message: "did not fail before, and --retry-failed was given")
}
