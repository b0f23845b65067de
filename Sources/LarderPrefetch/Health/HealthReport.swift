import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderImages
import LarderManifest

package struct HealthFinding {
    package enum Kind: String, Sendable, CaseIterable {
        case noIcon = "no-icon"
        case failed, missing
        case notAnImage = "not-an-image"
        case identical, insecure
        case thirdParty = "third-party"
        case oversized
    }

    package let kind: Kind
    package let entry: PlannedEntry
    /// Untrusted text.
    package let message: String
}

/// The findings about icons in manifests, kept in the plan's database to limit memory.
package struct HealthReport {
    package let files: Int
    /// The number of findings of each kind, or of ``otherHosts`` for `thirdParty`. Omits zeros.
    package let counts: [HealthFinding.Kind: Int]
    package let ownHost: String?
    /// The hosts except ``ownHost`` and its subdomains, by descending number of icons.
    package let otherHosts: [(host: String, icons: Int)]
    private let plan: Plan

    fileprivate init(of plan: Plan, checksFiles: Bool) throws {
        self.plan = plan
        var files = 0
        var hosts: [String: Int] = [:]
        var counts: [HealthFinding.Kind: Int] = [:]
        try plan.database.unsafeRead { db in
            let origins = "SELECT origin, count(*) FROM entries WHERE key NOT NULL GROUP BY origin"
            try db.prepared(origins).forEach { row in
                let url = try? HTTPURL(plan.origins[Int(row.integer())])
                if let url { hosts[url.host.withoutFinalDot, default: 0] += Int(row.integer()) }
            }
            try db.prepared("SELECT kind, count(*) FROM findings GROUP BY kind").forEach { row in
                let kind = HealthFinding.Kind(rawValue: try row.requireText())
                if let kind { counts[kind] = Int(row.integer()) }
            }
            let count = "SELECT count(*) FROM files"
            if checksFiles { files = Int(try db.prepared(count).firstInteger() ?? 0) }
        }
        self.files = files
        let sorted = hosts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let own = sorted.first?.key ?? ""
        ownHost = sorted.first?.key
        otherHosts = sorted.filter { $0.key != own && !$0.key.hasSuffix(".\(own)") }
            .map { ($0.key, $0.value) }
        if !otherHosts.isEmpty { counts[.thirdParty] = otherHosts.count }
        self.counts = counts
    }

    package var entries: Int { plan.summary.entries }

    package var icons: Int { plan.summary.icons - counts[.noIcon, default: 0] }

    /// The number of icons that are neither fetched nor checked as files, by `IconValue.Kind`.
    package var unfetched: [String: Int] {
        let relative = [IconValue.Kind.relative.rawValue: -files]
        return plan.summary.unfetched.merging(relative, uniquingKeysWith: +).filter { $1 > 0 }
    }

    package func forEach(
        _ kind: HealthFinding.Kind, _ body: (HealthFinding) throws -> Void
    ) throws {
        let select = Plan.select(", x.message", "JOIN main.findings x ON x.entry = e.id")
        try plan.database.unsafeRead { db in
            try db.prepared("\(select) WHERE x.kind = ? ORDER BY e.id").forEach(kind.rawValue) {
                let entry = try plan.entry(&$0)
                try body(HealthFinding(kind: kind, entry: entry, message: $0.requireText()))
            }
        }
    }
}

extension Planner {
    /// Passes a report to `conclude`. Icons larger than twice `shownPixels` are oversized. If
    /// `directory` is nil, relative icons are not checked.
    package func health(
        of manifests: [ManifestSource], shownPixels: Int?, filesIn directory: String?,
        onProgress: @escaping (PlanProgress) -> Void,
        conclude: (PlanSummary, HealthReport) throws -> Void
    ) throws {
        try CacheError.naming("the plan") {
            let iconRoot = try directory.map { try Cache.usersDirectory($0) }
            let plan = try plan(of: manifests, onProgress: onProgress)
            try plan.database.write { db in
                try db.execute(sql: HealthCheck.tables)
                let check = HealthCheck(db: db, shownPixels: shownPixels, iconRoot: iconRoot)
                try plan.forEachEntry(in: db, check.add)
                try db.execute(sql: HealthCheck.addFromTables)
            }
            try plan.releaseIndex()
            try conclude(plan.summary, HealthReport(of: plan, checksFiles: iconRoot != nil))
        }
    }
}

private struct HealthCheck {
    static let tables = """
        CREATE TABLE main.findings (
            kind TEXT NOT NULL, entry INTEGER NOT NULL, message TEXT NOT NULL);
        CREATE TABLE main.looks (      -- images by their digests
            digest BLOB NOT NULL, entry INTEGER NOT NULL, file TEXT);
        CREATE UNIQUE INDEX main.look_files ON looks (file) WHERE file IS NOT NULL;
        """
    static let addFromTables = """
        INSERT INTO findings
        SELECT 'insecure', id, 'the URL is not https' FROM entries
        WHERE coalesce(url, key) GLOB 'http:*';
        INSERT INTO findings
        SELECT 'identical', e.id, 'the same image as in entry ' || f.position
            || iif(f.manifest = e.manifest, '', ' of another manifest')
        FROM (SELECT digest, min(entry) AS entry FROM looks GROUP BY digest HAVING count(*) > 1) g
            JOIN looks l ON l.digest = g.digest
            JOIN entries f ON f.id = g.entry JOIN entries e ON e.id = l.entry
        WHERE (e.manifest, e.position) <> (f.manifest, f.position);
        """

    let db: Database
    let shownPixels: Int?
    let iconRoot: FileDescriptor?

    func add(_ entry: PlannedEntry) throws {
        if let iconRoot, entry.failure?.code == IconValue.Kind.relative.rawValue {
            let select = try db.prepared("SELECT name, other FROM files WHERE entry = ?")
            let names = try select.rows(entry.id) { [$0.text(), $0.text()] }.first
            guard let names else { return }
            try addFile(names.compactMap(\.self), in: iconRoot, of: entry.id)
        } else if let (kind, message) = try problem(of: entry) {
            try addFinding(kind, entry.id, message)
        }
        guard let object = entry.object, [.cached, .stale].contains(entry.status) else { return }
        try addSize(object.mediaType, object.width, object.height, of: entry.id)
        if !entry.isDuplicate { try addLook(object.digest, entry.id, file: nil) }
    }

    private func addFinding(_ kind: HealthFinding.Kind, _ entry: Int64, _ message: String) throws {
        try db.prepared("INSERT INTO findings VALUES (?, ?, ?)").run(kind.rawValue, entry, message)
    }

    private func addLook(_ digest: Digest, _ entry: Int64, file: String?) throws {
        try db.prepared("INSERT OR IGNORE INTO looks VALUES (?, ?, ?)").run(digest, entry, file)
    }

    private func problem(of entry: PlannedEntry) throws -> (HealthFinding.Kind, String)? {
        func kind(_ code: String) -> HealthFinding.Kind {
            ImageError.Code(rawValue: code) == nil ? .failed : .notAnImage
        }
        // The message omits the failure's age, so that the same cache gives the same report.
        if let past = entry.lastFailure, (entry.failure?.code ?? past.code) == past.code {
            return (kind(past.code), past.reason)
        }
        if let failure = entry.failure {
            if failure.code == "no-icon" { return (.noIcon, failure.message) }
            return failure.isSkip ? nil : (kind(failure.code), failure.message)
        }
        if let object = entry.object, object.mediaType == nil {
            return (.notAnImage, "the object in the cache is not an image")
        }
        guard entry.status == .missing else { return nil }
        let select = try db.prepared(
            "SELECT bytes FROM inline WHERE key = (SELECT key FROM entries WHERE id = ?)")
        if let bytes = try select.rows(entry.id, as: { $0.data() ?? Data() }).first {
            do {
                _ = try bytes.withUnsafeBytes { try ImageInspector.inspect($0) }
            } catch let error as ImageError {
                return (.notAnImage, error.message)
            }
        }
        let reason = entry.expectation.isDemanding ? ", or not as the manifest requires" : ""
        return (.missing, "not in the cache" + reason)
    }

    private func addSize(
        _ mediaType: String?, _ width: Int?, _ height: Int?, of entry: Int64
    ) throws {
        guard let shownPixels, let width, let height, mediaType != MediaType.svg.rawValue,
            max(width, height) > 2 * shownPixels
        else { return }
        try addFinding(.oversized, entry, "\(width) × \(height) pixels, shown at \(shownPixels)")
    }

    private func addFile(_ names: [String], in root: FileDescriptor, of entry: Int64) throws {
        for name in names {
            let bytes: [UInt8]
            let image: ImageInfo
            do {
                bytes = try Self.bytes(of: name, in: root)
                image = try bytes.withUnsafeBytes { try ImageInspector.inspect($0) }
            } catch {
                let failure = error as? CacheError
                if [ENOENT, ENOTDIR, ENAMETOOLONG].contains(failure?.errno) { continue }
                return try addFinding(
                    failure == nil ? .notAnImage : .failed, entry,
                    "the file \(name.quoted()): \(failure?.message ?? "\(error)")")
            }
            try addLook(Digest(of: bytes), entry, file: name)
            return try addSize(image.mediaType.rawValue, image.width, image.height, of: entry)
        }
        let list = names.map { $0.quoted() }.joined(separator: " or ")
        try addFinding(.missing, entry, "no file \(list)")
    }

    /// Reads an untrusted file. Rejects `..` and does not follow links.
    private static func bytes(of name: String, in root: FileDescriptor) throws -> [UInt8] {
        let parts = UsersPath.names(in: name)
        guard let last = parts.last, !name.utf8.contains(0),
            !parts.contains(where: { $0.isSame(as: "..") })
        else { throw CacheError("open", subject: name, errno: ENOENT) }
        var directory = root
        for part in parts.dropLast() { directory = try directory.directory(part) }
        let file = try directory.file(last)
        let status = try file.status()
        guard status.isRegularFile, status.st_size <= 16 << 20 else {
            throw CacheError(
                .unusable, subject: name, message: "not a regular file of at most 16 MiB")
        }
        return try file.read(at: 0, atMost: Int(status.st_size))
    }
}
