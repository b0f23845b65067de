import Foundation
import GRDB
import LarderCache
import LarderTransfer

/// The comparison of a plan with a cache's index: what is cached, stale, missing or failed before.
struct PlanClassification {
    let cache: Cache?
    let acceptsAnyContent: Bool
    let policy: PlanPolicy
    let headers: RequestHeaders

    /// Decides the status of every URL, and queues those that are to be fetched.
    func apply(to db: Database, summary: inout PlanSummary) throws {
        if let cache, cache.indexURI != nil {
            try compare(with: cache, db, &summary)
            try recallFailures(db)
        }
        if policy.isOffline { try settleOffline(db, &summary) } else { try settle(db, &summary) }
        summary.missing =
            summary.urls - summary.cached - summary.stale - summary.remembered - summary.leftAlone
            - summary.unavailable
        try db.execute(
            sql: """
                INSERT INTO pending (fetch, origin)
                SELECT id, origin FROM fetches WHERE status < ? ORDER BY priority DESC, id
                """, arguments: [PlanStatus.cached.rawValue])
    }

    /// One pass over a join; only where header fields select variants more is looked at. What the index
    /// has is looked for in the tree a page at a time, which spares opening a directory for each.
    private func compare(
        with cache: Cache, _ db: Database, _ summary: inout PlanSummary
    ) throws {
        let now = Date()
        let known = try PreparedStatement(
            db,
            """
            SELECT f.id, f.is_strict, \(Resource.isFresh(at: now)), o.digest, o.size,
                o.media_type IS NOT NULL, r.cache_control, r.variant, r.vary,
                coalesce(f.url, f.key), r.response_url, f.credentials IS NOT NULL,
                \(ObjectUse.isDue(at: now))
            FROM main.fetches f JOIN cache.resources r ON r.key = f.key
                JOIN cache.objects o ON o.id = r.object
            """)
        defer { known.reset() }
        var page: [Known] = []
        while try known.step() {
            // What was accepted as any content is no icon for a run that wants icons.
            guard let digest = known.digest(3), acceptsAnyContent || known.bool(5) else { continue }
            let size = known.integer(4)
            let id = known.integer(0)
            if known.bool(1), try !meetsExpectations(of: id, digest, size, db) { continue }
            let isCached = mayBeUsed(known)
            // What is stale is asked for, and its use recorded with the answer.
            page.append(
                Known(
                    fetch: id, digest: digest, size: size, status: isCached ? .cached : .stale,
                    isUseDue: isCached && known.bool(12)))
            guard page.count == Self.pageLimit else { continue }
            try settle(page, cache, db, &summary)
            page.removeAll(keepingCapacity: true)
        }
        try settle(page, cache, db, &summary)
    }

    private static let pageLimit = 4096

    /// A fetch whose key the index has.
    private struct Known {
        let fetch: Int64
        let digest: Digest
        let size: Int64
        let status: PlanStatus
        let isUseDue: Bool
    }

    /// Deleting objects by hand costs downloads, never correctness: what is gone stays missing.
    private func settle(
        _ page: [Known], _ cache: Cache, _ db: Database, _ summary: inout PlanSummary
    ) throws {
        let update = try PreparedStatement(
            db, "UPDATE fetches SET status = ?, is_use_due = ? WHERE id = ?")
        let arePresent = try cache.arePresent(page.map { ($0.digest, $0.size) })
        for (known, isPresent) in zip(page, arePresent) where isPresent {
            try update.run(known.status.rawValue, known.isUseDue, known.fetch)
            if known.status == .cached { summary.cached += 1 } else { summary.stale += 1 }
        }
    }

    /// Whether a resource may be used without asking its origin.
    private func mayBeUsed(_ row: PreparedStatement) -> Bool {
        if policy.isOffline { return true }
        return switch policy.revalidation {
        case .never: true
        case .stale: row.bool(2) && isWantedVariant(row)
        // What a redirect leads to is not immutable because its target is.
        case .always:
            row.bool(2) && row.isNull(10) && CacheControl(row.text(6)).isImmutable
                && isWantedVariant(row)
        }
    }

    /// Whether a request would select the variant that is cached (RFC 9111, section 4.1).
    private func isWantedVariant(_ row: PreparedStatement) -> Bool {
        guard !row.isNull(7) else { return true }
        guard let variant = row.digest(7), let vary = row.text(8),
            let url = row.text(9).flatMap({ try? HTTPURL($0) })
        else { return false }
        let target = row.text(10).flatMap { try? HTTPURL($0) } ?? url
        let fields = headers.selecting(
            for: target, isRedirected: target.origin != url.origin, hasCredentials: row.bool(11))
        return Vary(vary).variant(for: fields) == variant
    }

    private func meetsExpectations(
        of fetch: Int64, _ digest: Digest, _ size: Int64, _ db: Database
    ) throws -> Bool {
        let misses = try db.cachedStatement(
            sql: """
                SELECT EXISTS (
                    SELECT 1 FROM entries
                    WHERE (id = ?1 OR (fetch = ?1 AND is_duplicate = 1))
                        AND ((digest IS NOT NULL AND digest <> ?2)
                            OR (size IS NOT NULL AND size <> ?3)))
                """)
        return try Bool.fetchOne(misses, arguments: [fetch, Data(digest.bytes), size]) == false
    }

    /// Copies what the index remembers of the plan's fetches: there are few, and reports want them
    /// after the index was let go.
    private func recallFailures(_ db: Database) throws {
        let statuses = PastFailure.permanentStatuses.map(String.init).joined(separator: ", ")
        let now = Date().timeIntervalSince1970
        // A cross join is one that SQLite does not turn round: few failures look for their fetches.
        // One of another URL, which the key had then, says nothing of today's; nor does one of a
        // time to come, which is a clock's that was set back.
        try db.execute(
            sql: """
                INSERT INTO main.failures
                SELECT f.id, x.code, x.status, x.failed_at, x.count,
                    coalesce(x.status IN (\(statuses)), 0) AND x.failed_at > ? AND x.failed_at <= ?
                        AND coalesce(x.url, x.key) = coalesce(f.url, f.key)
                FROM cache.failures x CROSS JOIN main.fetches f ON f.key = x.key
                """, arguments: [now - policy.failureLifetime / .seconds(1), now])
    }

    /// Takes out of the plan what is not to be asked for because of how it went before.
    private func settle(_ db: Database, _ summary: inout PlanSummary) throws {
        let (status, condition): (PlanStatus, String) =
            policy.retriesOnlyFailed
            ? (.skipped, "id NOT IN (SELECT fetch FROM main.failures)")
            : (.failed, "id IN (SELECT fetch FROM main.failures WHERE is_final)")
        try db.execute(
            sql: "UPDATE fetches SET status = ? WHERE status < ? AND \(condition)",
            arguments: [status.rawValue, PlanStatus.cached.rawValue])
        let settled = db.changesCount
        guard settled > 0 else { return }
        let entries = try count(
            "entries e JOIN fetches f ON f.id = e.fetch WHERE f.status = ?", status, db)
        summary.stale = try count("fetches WHERE status = ?", .stale, db)
        switch status {
        case .failed: (summary.remembered, summary.failed) = (settled, summary.failed + entries)
        default: (summary.leftAlone, summary.skipped) = (settled, summary.skipped + entries)
        }
    }

    /// Takes out of the plan all that would have to be asked for: what a manifest itself holds need not be.
    private func settleOffline(_ db: Database, _ summary: inout PlanSummary) throws {
        try db.execute(
            sql: """
                UPDATE fetches SET status = ?
                WHERE status < ? AND id NOT IN (SELECT fetch FROM main.inline)
                """, arguments: [PlanStatus.unavailable.rawValue, PlanStatus.cached.rawValue])
        summary.unavailable = db.changesCount
        summary.failed += try count(
            "entries e JOIN fetches f ON f.id = e.fetch WHERE f.status = ?", .unavailable, db)
    }

    private func count(_ rows: String, _ status: PlanStatus, _ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM \(rows)", arguments: [status.rawValue]) ?? 0
    }
}
