import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest

extension Plan {
    /// Returns a plan that can be compared with the cache until ``releaseIndex()``.
    static func covering(
        _ manifests: [ManifestSource], in cache: Cache, _ configuration: PrefetchConfiguration
    ) throws -> Plan {
        var planner = Planner(configuration, cache: cache)
        (planner.acceptsAnyContent, planner.shard) = (true, nil)
        let plan = try planner.plan(of: manifests)
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
            // SQLite searches `main` before `cache`.
            let index = """
                CREATE TABLE main.objects (id, digest, size);
                CREATE TABLE main.resources (key, object);
                """
            if !plan.hasIndex { try db.execute(sql: index) }
            if !cache.hasDamaged { try db.execute(sql: "CREATE TABLE main.damaged (digest, key)") }
        }
        return plan
    }

    func namedObjects(_ byte: UInt8) throws(CacheError) -> Set<Digest> {
        // SQLite does not reorder a cross join, so it looks up the entries of a few objects instead
        // of reading all entries for each of 256 sets.
        let select = """
            SELECT o.digest FROM objects o CROSS JOIN resources r CROSS JOIN entries f
            WHERE o.digest >= ?1 AND (?2 IS NULL OR o.digest < ?2)
                AND r.object = o.id AND f.key = r.key AND f.leader IS NULL
            """
        let end: Data? = byte == 255 ? nil : Data([byte + 1])
        do {
            let digests = try read(select) { try $0.rows(Data([byte]), end) { $0.digest() } }
            return Set(digests.compactMap(\.self))
        } catch {
            throw CacheError(index: "the plan", error)
        }
    }

    func entryFindings() throws -> VerifyReport.EntryFindings {
        try database.write { db in
            // All contradicting entries of a resource have the same message, which names two of
            // them, so only the first is a finding.
            try db.execute(
                sql: """
                    CREATE TABLE main.findings (
                        entry INTEGER PRIMARY KEY, contradicted INTEGER UNIQUE, problem TEXT)
                    """)
            let insert = try db.prepared("INSERT OR IGNORE INTO findings VALUES (?, ?, ?)")
            try db.prepared(comparison).forEach { row in
                let (id, contradicted) = (row.integer(), row.optionalInteger())
                guard let problem = Self.problem(&row) else { return }
                try insert.run(id, contradicted, problem)
            }
        }
        var findings = VerifyReport.EntryFindings()
        try forEachFinding { finding in
            findings.count += 1
            if finding.isUnusable { findings.unusable += 1 }
            if !finding.isUnusable { findings.fetchable += finding.urls.count }
            findings.first = findings.first ?? finding
        }
        findings.read = { [self] body in try forEachFinding(body) }
        return findings
    }

    private func forEachFinding(_ body: (VerifyReport.Finding) throws -> Void) throws {
        let select = """
            SELECT e.manifest, e.position, m.problem, e.message IS NOT NULL, f.url, f.key,
                f.credentials IS NOT NULL
            FROM findings m JOIN entries e ON e.id = m.entry
                LEFT JOIN entries f ON f.id = coalesce(e.leader, e.id)
            ORDER BY m.entry
            """
        try CacheError.naming("the plan") {
            try read(select) { rows in
                try rows.forEach { row in
                    let place = "\(manifests[Int(row.integer())]): entry \(row.integer())"
                    let (problem, isUnusable) = (try row.requireText(), row.bool())
                    let url = ResourceKey.shownURL(
                        row.text(), key: row.text(), hasCredentials: row.bool())
                    var finding = VerifyReport.Finding(
                        .missing, place, problem, urls: url.map { [$0] } ?? [])
                    finding.isUnusable = isUnusable
                    try body(finding)
                }
            }
        }
    }

    private var comparison: String {
        let unfetched = IconValue.Kind.unfetched.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        return """
            SELECT e.id, iif(e.code IS '\(EntryError.Code.integrityConflict.rawValue)', f.id, NULL),
                e.message, \(Expectation.columns), f.key, o.digest, o.size
            FROM entries e LEFT JOIN entries f ON f.id = coalesce(e.leader, e.id)
                LEFT JOIN resources r ON r.key = f.key LEFT JOIN objects o ON o.id = r.object
            WHERE (e.key IS NOT NULL OR e.code NOT IN (\(unfetched)))
                AND NOT EXISTS (SELECT 1 FROM damaged d WHERE d.key = f.key)
            ORDER BY e.id
            """
    }

    private static func problem(_ row: inout RowReader) -> String? {
        if let message = row.text() { return message }
        let expected = Expectation(&row)
        let key = row.value().withBytes { Array($0) }
        guard let digest = row.digest(), ResourceKey.mayName(digest, key) else {
            return "not cached"
        }
        let size = row.integer()
        if let wanted = expected.digest, wanted != digest {
            return "expected \(wanted), the cache has \(digest) (\(size) bytes)"
        }
        guard let wanted = expected.size, wanted != size else { return nil }
        return "expected \(Int(wanted).of("byte")), the cache has \(size)"
    }

    func damagedFindings() throws -> [VerifyReport.Finding] {
        let select = """
            SELECT d.digest, d.key FROM damaged d CROSS JOIN entries f
            WHERE f.key = d.key AND f.leader IS NULL ORDER BY d.digest, d.key
            """
        let rows = try read(select) {
            try $0.rows { (digest: $0.digest(), key: try $0.requireText()) }
        }
        return Dictionary(grouping: rows, by: \.digest).map { digest, rows in
            .init(damaged: digest, urls: rows.map(\.key))
        }
    }

    func demands(on digests: [Digest]) throws -> [String: Set<Expectation>] {
        let select = """
            SELECT f.key, f.id FROM objects o CROSS JOIN resources r CROSS JOIN entries f
            WHERE o.digest = ?1 AND r.object = o.id AND f.key = r.key AND f.leader IS NULL
            UNION SELECT f.key, f.id FROM damaged d CROSS JOIN entries f
            WHERE d.digest = ?1 AND f.key = d.key AND f.leader IS NULL
            """
        let fetches = try read(select) { rows in
            try digests.flatMap { digest in
                try rows.rows(digest) { (key: try $0.requireText(), id: $0.integer()) }
            }
        }
        // The set is empty if all entries contradict each other.
        let selectDemands = """
            SELECT \(Expectation.columns) FROM entries e
            WHERE (id = ?1 OR leader = ?1) AND code IS NULL
            GROUP BY digest, size ORDER BY min(id) LIMIT 1000
            """
        var demands: [String: Set<Expectation>] = [:]
        for (key, id) in fetches {
            let expectations = try read(selectDemands) { try $0.rows(id) { Expectation(&$0) } }
            demands[key] = Set(expectations)
        }
        return demands
    }
}
