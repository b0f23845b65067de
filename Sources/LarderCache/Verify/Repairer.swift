import Foundation
import GRDB
import LarderCore

/// Repairs what a verification found, as far as that needs no network. Only rows are deleted, and
/// what they say is kept in the table `damaged` until it is fetched again.
///
/// Bad files are moved before their rows are deleted. A crash between the two leaves rows without a
/// file, which the next repair or prefetch mends. Other processes may store meanwhile, so every
/// finding is checked again, and once more inside the transaction that drops its rows.
struct Repairer {
    /// How many objects are dropped in one transaction: other writers wait for it.
    private static let batch = 64

    let directory: CacheDirectory
    let index: CacheIndex
    private let reader: ObjectReader

    init(directory: CacheDirectory, index: CacheIndex) {
        self.directory = directory
        self.index = index
        reader = ObjectReader(directory.sparse)
    }

    /// Notes the repairs, and returns the resources to fetch, which count as lost until then.
    func repair(
        _ findings: inout [VerifyReport.Finding], isCancelled: () -> Bool
    ) throws(CacheError) -> [DroppedResource] {
        for position in findings.indices where !isCancelled() {
            do throws(CacheError) {
                switch findings[position].kind {
                case .misplaced: try settle(&findings[position])
                case .mode: try mendMode(&findings[position])
                case .obstructed, .foreign: try clear(&findings[position])
                default: continue
                }
            } catch  where [EACCES, EPERM, EBUSY, ENOENT].contains(error.errno) {
                // Somebody else's, or gone meanwhile. Neither is corruption: it stays as it is.
            }
        }
        let bad = findings.indices.filter {
            findings[$0].digest != nil
                && [.corrupt, .missing, .link, .index, .unreadable].contains(findings[$0].kind)
        }
        for start in stride(from: 0, to: bad.count, by: Self.batch) {
            let batch = bad[start..<min(start + Self.batch, bad.count)]
            try withdraw(batch, &findings, isCancelled)
        }
        if !isCancelled() { try mendIndex(&findings) }
        return try damaged(&findings)
    }

    private func damaged(
        _ findings: inout [VerifyReport.Finding]
    ) throws(CacheError) -> [DroppedResource] {
        var damaged: [DroppedResource] = []
        var seen: Set<Digest?> = []
        for position in findings.indices where findings[position].kind.isCorruption {
            let finding = findings[position]
            // An entry of a manifest that was never cached has neither.
            guard finding.digest != nil || finding.subject == CacheLayout.index,
                seen.insert(finding.digest).inserted
            else { continue }
            let resources = try index.damaged(finding.digest, finding: position)
            if !resources.isEmpty { findings[position].repair = .lost }
            damaged += resources
        }
        return damaged
    }

    private enum Place { case whole(size: Int64), bad(inode: ino_t), empty }

    private func withdraw(
        _ batch: ArraySlice<Int>, _ findings: inout [VerifyReport.Finding],
        _ isCancelled: () -> Bool
    ) throws(CacheError) {
        var suspects: [(Int, Digest, Place)] = []
        for position in batch where !isCancelled() {
            guard let digest = findings[position].digest else { continue }
            var place: Place
            do throws(CacheError) {
                place = try self.place(of: digest)
            } catch  where findings[position].kind == .unreadable {
                // Still so, which says nothing about its bytes.
                continue
            }
            if case .bad(let inode) = place {
                findings[position].quarantine = try Quarantine(of: directory).take(
                    digest.hex, from: directory.fanOut(digest), inode: inode)
                if findings[position].quarantine != nil { place = .empty }
            }
            suspects.append((position, digest, place))
        }
        guard !suspects.isEmpty else { return }
        var repairs: [Int: VerifyReport.Finding.Repair] = [:]
        try index.write { db in
            repairs = [:]
            for (position, digest, place) in suspects {
                if case .whole(let size) = place {
                    try db.prepared("UPDATE objects SET size = ?1 WHERE digest = ?2 AND size <> ?1")
                        .run(size, digest)
                    repairs[position] = .restored
                } else if try isStill(place, digest) {
                    try drop(digest, finding: position, in: db)
                    repairs[position] = .removed
                } else {
                    // Another process has stored it anew.
                    repairs[position] = .restored
                }
            }
        }
        for (position, repair) in repairs { findings[position].repair = repair }
    }

    private func place(of digest: Digest) throws(CacheError) -> Place {
        guard let status = try directory.status(of: digest) else { return .empty }
        let bad = Place.bad(inode: status.st_ino)
        guard status.isRegularFile else { return bad }
        do throws(CacheError) {
            let file = try directory.open(digest)
            let found = try file.status()
            return try reader.digest(file, expecting: digest)?.digest == digest
                ? .whole(size: Int64(found.st_size)) : .bad(inode: found.st_ino)
        } catch  where error.code == .corrupt || error.isSparse {
            // Gone or replaced: the transaction finds out. Or sparse: it is set aside.
            return bad
        }
    }

    private func isStill(_ place: Place, _ digest: Digest) throws(CacheError) -> Bool {
        let inode = try directory.status(of: digest)?.st_ino
        return switch place {
        case .whole: true
        case .bad(let bad): inode == bad
        case .empty: inode == nil
        }
    }

    private func drop(_ digest: Digest, finding: Int, in db: Database) throws {
        let dropped = try db.prepared(
            """
            SELECT \(DroppedResource.columns)
            FROM resources r JOIN objects o ON o.id = r.object WHERE o.digest = ? ORDER BY r.key
            """
        ).rows(digest) { try DroppedResource(&$0, finding: finding) }
        for resource in dropped { try resource.keep(in: db) }
        try db.prepared("DELETE FROM objects WHERE digest = ?").run(digest)
    }

    private func mendIndex(_ findings: inout [VerifyReport.Finding]) throws(CacheError) {
        let damaged = findings.indices.filter {
            findings[$0].kind == .index && findings[$0].digest == nil
        }
        guard let first = damaged.first else { return }
        try index.write { db in
            let dropped = try db.prepared(
                """
                SELECT \(DroppedResource.columns)
                FROM resources r LEFT JOIN objects o ON o.id = r.object WHERE o.id IS NULL
                ORDER BY r.key
                """
            ).rows { try DroppedResource(&$0, finding: first) }
            for resource in dropped { try resource.keep(in: db) }
            try db.execute(
                sql: "DELETE FROM resources WHERE object NOT IN (SELECT id FROM objects)")
        }
        // What else SQLite complains of is not for this to mend.
        if try index.structuralComplaints().isEmpty {
            for position in damaged { findings[position].repair = .removed }
        }
    }

    /// Puts an object where it belongs, if that is what it is and the place is free.
    private func settle(_ finding: inout VerifyReport.Finding) throws(CacheError) {
        guard let digest = finding.digest else { return }
        let objects = try directory.objects()
        let fanOut = String(finding.subject.split(separator: "/")[2])
        let parent = try objects.directory(fanOut)
        // Anything else is nobody's object.
        guard let status = try parent.status(of: digest.hex), status.isRegularFile else { return }
        if case .empty = try place(of: digest) {
            let file = try parent.file(digest.hex)
            let read: (digest: Digest, count: Int64)?
            do throws(CacheError) {
                read = try reader.digest(file, expecting: digest)
            } catch  where error.isSparse { return }
            if read?.digest == digest {
                // Nobody knows whether its bytes are durable, and a row may be waiting for them.
                try Self.makeReadOnly(file)
                guard fsync(file.raw) == 0 else {
                    throw CacheError("fsync", subject: finding.subject, errno: errno)
                }
                let home = try objects.directory(CacheLayout.fanOut(digest), create: true)
                try parent.rename(digest.hex, to: home, as: digest.hex)
                guard fsync(home.raw) == 0 else { throw home.failure("fsync") }
                finding.repair = .restored
                return
            }
        }
        finding.quarantine = try Quarantine(of: directory).take(
            digest.hex, from: parent, inode: status.st_ino)
        finding.repair = .removed
    }

    /// Moves away what would keep objects out of their place. Other foreign files stay.
    private func clear(_ finding: inout VerifyReport.Finding) throws(CacheError) {
        var parent = try directory.objects()
        var name = String(finding.subject.suffix(2))
        let isForObjects = finding.kind == .obstructed
        if !isForObjects {
            guard let digest = finding.digest else { return }
            (parent, name) = (try directory.fanOut(digest), digest.hex)
        }
        guard let status = try parent.status(of: name), status.isDirectory != isForObjects
        else { return }
        finding.quarantine = try Quarantine(of: directory).take(
            name, from: parent, inode: status.st_ino)
        finding.repair = .removed
    }

    private func mendMode(_ finding: inout VerifyReport.Finding) throws(CacheError) {
        guard let digest = finding.digest else { return }
        if try Self.makeReadOnly(directory.fanOut(digest).file(digest.hex)) {
            finding.repair = .restored
        }
    }

    /// Removes the write permission unless the file has another name. Returns whether it did.
    @discardableResult
    private static func makeReadOnly(_ file: FileDescriptor) throws(CacheError) -> Bool {
        guard try file.status().st_nlink == 1 else { return false }
        try file.setMode(0o444)
        return true
    }
}

extension VerifyReport {
    /// What fetching a URL again came to.
    public struct Refetch: Sendable {
        /// What became of it.
        public enum Outcome: String, Sendable, CaseIterable {
            /// It has the same bytes as before.
            case fetched
            /// It has other bytes by now.
            case changed
            /// It could not be fetched.
            case failed
        }

        /// The URL, or the key it is looked up by.
        public let key: String
        /// What became of it.
        public let outcome: Outcome
        /// The digest of its bytes; nil if it failed.
        public let digest: Digest?
        /// Why it failed: a code and a reason.
        public let problem: (code: String, message: String)?

        package init(
            key: String, outcome: Outcome, digest: Digest? = nil,
            problem: (code: String, message: String)? = nil
        ) {
            self.key = key
            self.outcome = outcome
            self.digest = digest
            self.problem = problem
        }
    }

    /// The findings about entries of manifests, in a temporary file, because there may be millions.
    public struct EntryFindings: Sendable {
        /// The number of findings.
        public let count: Int
        package let fetchable: Int
        package let first: Finding?
        private let read: @Sendable ((Finding) throws -> Void) throws -> Void

        package init(
            count: Int = 0, fetchable: Int = 0, first: Finding? = nil,
            read: @escaping @Sendable ((Finding) throws -> Void) throws -> Void = { _ in }
        ) {
            self.count = count
            self.fetchable = fetchable
            self.first = first
            self.read = read
        }

        /// Calls `body` for each finding, in the order of the manifests. Throws ``CacheError`` if
        /// the temporary file cannot be read, and what `body` throws.
        public func forEach(_ body: (Finding) throws -> Void) throws { try read(body) }
    }
}
