import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest

final class ManifestCoverage: Sendable {
    let plan: Plan
    private let hasDamaged: Bool

    init(of manifests: [ManifestSource], cache: Cache, configuration: PrefetchConfiguration) throws
    {
        plan = try Plan(
            of: manifests.map { $0.cached { try cache.manifest($0)?.file } },
            by: Planner(
                cache: cache, rules: configuration.manifestRules, acceptsAnyContent: true,
                headers: configuration.requestHeaders))
        hasDamaged = plan.hasIndex && cache.hasDamaged
        for (source, summary) in zip(manifests, plan.summary.manifests) {
            if let refusal = summary.refusal(of: source) { throw refusal }
            // If no entry has a digest at the given path, no digest would be compared.
            let digest = ManifestSummary.NamedPart.integrity
            if summary.entries > 0, summary.unmet.contains(digest) {
                throw ManifestError(.malformed, source: source.name, digest.warning)
            }
        }
        try plan.database.writeWithoutTransaction { db in
            try db.execute(sql: "CREATE INDEX main.leaders ON entries (key) WHERE leader IS NULL")
        }
    }

    /// Must be called last.
    func close() { try? plan.releaseIndex() }

    func objects(_ byte: UInt8) throws(CacheError) -> Set<Digest> {
        guard plan.hasIndex else { return [] }
        do {
            return try plan.database.unsafeRead { db in
                // SQLite does not reorder a cross join, so it looks up the entries of a few objects
                // instead of reading all entries for each of 256 sets.
                let digests = try Data.fetchSet(
                    db,
                    sql: """
                        SELECT o.digest FROM cache.objects o CROSS JOIN cache.resources r
                            CROSS JOIN main.entries f
                        WHERE o.digest >= ?1 AND (?2 IS NULL OR o.digest < ?2)
                            AND r.object = o.id AND f.key = r.key AND f.leader IS NULL
                        """,
                    arguments: [Data([byte]), byte == 255 ? nil : Data([byte + 1])])
                return Set(digests.compactMap { Digest(bytes: $0) })
            }
        } catch {
            throw CacheError(index: "the plan", error)
        }
    }

    func findings() throws -> VerifyReport.EntryFindings {
        var (count, fetchable, unusable) = (0, 0, 0)
        var first: VerifyReport.Finding?
        var contradicted: Set<Int64> = []
        try plan.database.writeWithoutTransaction { db in
            try db.execute(
                sql: "CREATE TABLE main.findings (entry INTEGER PRIMARY KEY, problem TEXT)")
            try db.inTransaction {
                let insert = try db.prepared("INSERT INTO findings VALUES (?, ?)")
                let rows = try Row.fetchCursor(db, sql: comparison)
                while let row = try rows.next() {
                    guard let problem = problem(row) else { continue }
                    if row["is_contradiction"] {
                        // All contradicting entries have the same message, which names two of them.
                        let resource: Int64 = row["resource"]
                        if contradicted.contains(resource) { continue }
                        if contradicted.count < Self.maximumContradictions {
                            contradicted.insert(resource)
                        }
                    }
                    let finding = Self.finding(row, problem, in: plan)
                    count += 1
                    if finding.isUnusable {
                        unusable += 1
                    } else {
                        fetchable += finding.urls.count
                    }
                    first = first ?? finding
                    try insert.run(row["id"] as Int64, problem == Self.notCached ? nil : problem)
                }
                return .commit
            }
        }
        return .init(count: count, fetchable: fetchable, unusable: unusable, first: first) {
            [plan] body in
            try Plan.translatingErrors {
                try plan.database.unsafeRead { db in
                    let rows = try Row.fetchCursor(
                        db,
                        sql: """
                            SELECT \(Self.columns), m.problem
                            FROM findings m JOIN entries e ON e.id = m.entry
                                LEFT JOIN entries f ON f.id = coalesce(e.leader, e.id)
                            ORDER BY m.entry
                            """)
                    while let row = try rows.next() {
                        try body(Self.finding(row, row["problem"] ?? Self.notCached, in: plan))
                    }
                }
            }
        }
    }

    private static let notCached = "not cached"
    /// The number of resources whose contradiction is reported only once. Limits memory.
    private static let maximumContradictions = 4_096

    private static let columns = """
        e.id, e.manifest, e.position, f.key, f.url, f.credentials IS NOT NULL AS has_credentials,
        e.message IS NOT NULL AS is_unusable
        """

    private var comparison: String {
        let known = """
            cache.resources r ON r.key = f.key LEFT JOIN cache.objects o ON o.id = r.object
            """
        let object =
            plan.hasIndex
            ? "CAST(o.digest AS BLOB) AS digest, coalesce(CAST(o.size AS INTEGER), 0) AS size"
            : "NULL AS digest, NULL AS size"
        let unfetched = IconValue.Kind.unfetched.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        let isDamaged =
            hasDamaged ? "EXISTS (SELECT 1 FROM cache.damaged d WHERE d.key = f.key)" : "FALSE"
        return """
            SELECT \(Self.columns), e.message, coalesce(e.leader, e.id) AS resource,
                e.code IS '\(EntryError.Code.integrityConflict.rawValue)' AS is_contradiction,
                e.digest AS wanted, e.size AS wanted_size, \(object)
            FROM entries e
                LEFT JOIN entries f ON f.id = coalesce(e.leader, e.id)
                \(plan.hasIndex ? "LEFT JOIN \(known)" : "")
            WHERE (e.key IS NOT NULL OR e.code NOT IN (\(unfetched)))
                AND NOT \(isDamaged) ORDER BY e.id
            """
    }

    private static func finding(
        _ row: Row, _ problem: String, in plan: Plan
    ) -> VerifyReport.Finding {
        let url = ResourceKey.shownURL(
            row["url"], key: row["key"], hasCredentials: row["has_credentials"])
        var finding = VerifyReport.Finding(
            .missing, "\(plan.manifests[row["manifest"]]): entry \(row["position"] as Int)",
            problem, urls: url.map { [$0] } ?? [])
        finding.isUnusable = row["is_unusable"]
        return finding
    }

    func damaged() throws -> [VerifyReport.Finding] {
        guard hasDamaged else { return [] }
        let select = """
            SELECT d.digest, d.key FROM cache.damaged d CROSS JOIN main.entries f
            WHERE f.key = d.key AND f.leader IS NULL ORDER BY d.digest, d.key
            """
        let rows = try plan.read(select) {
            try $0.rows { (digest: $0.digest(), key: try $0.requireText()) }
        }
        return Dictionary(grouping: rows, by: \.digest).map { digest, rows in
            .init(damaged: digest, urls: rows.map(\.key))
        }
    }

    private func problem(_ row: Row) -> String? {
        if let message = row["message"] as String? { return message }
        guard let digest = (row["digest"] as Data?).flatMap({ Digest(bytes: $0) }),
            ResourceKey.mayName(digest, Array((row["key"] as String).utf8))
        else { return Self.notCached }
        let expected = Expectation(
            digest: (row["wanted"] as Data?).flatMap { Digest(bytes: $0) }, size: row["wanted_size"]
        )
        let size: Int64 = row["size"]
        guard expected.failure(digest: digest, size: size) != nil else { return nil }
        if let wanted = expected.digest, wanted != digest {
            return "expected \(wanted), the cache has \(digest) (\(size) bytes)"
        }
        return "expected \(Int(expected.size ?? 0).of("byte")), the cache has \(size)"
    }

    func demands(on digests: [Digest]) throws -> [String: Set<VerifyReport.Demand>] {
        guard plan.hasIndex, !digests.isEmpty else { return [:] }
        let ofDamaged =
            hasDamaged
            ? """
            UNION SELECT f.key, f.id FROM cache.damaged d CROSS JOIN main.entries f
            WHERE d.digest = ?1 AND f.key = d.key AND f.leader IS NULL
            """ : ""
        let select = """
            SELECT f.key, f.id FROM cache.objects o CROSS JOIN cache.resources r
                CROSS JOIN main.entries f
            WHERE o.digest = ?1 AND r.object = o.id AND f.key = r.key AND f.leader IS NULL
            \(ofDamaged)
            """
        let fetches = try plan.read(select) { rows in
            try digests.flatMap { digest in
                try rows.rows(digest) { (key: try $0.requireText(), id: $0.integer()) }
            }
        }
        var demands: [String: Set<VerifyReport.Demand>] = [:]
        for (key, id) in fetches {
            let expectations = try plan.expectations(of: id)
            demands[key] = Set(expectations.map { .init(digest: $0.digest, size: $0.size) })
        }
        return demands
    }
}
