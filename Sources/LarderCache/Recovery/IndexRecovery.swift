import Foundation
import GRDB
import LarderCore

/// A rebuild of the index from the objects and the rows of the old index. If the old index is
/// damaged, the rows come from its last snapshot.
///
/// Other processes detect the replacement before they report an object as stored. If a killed
/// rebuild leaves no index, the next process to open the cache rebuilds it.
struct IndexRecovery {
    private let directory: CacheDirectory
    private let run: RunDirectory

    init(_ directory: CacheDirectory) throws(CacheError) {
        self.directory = directory
        run = try RunDirectory(in: directory)
    }

    static func isDue(in directory: CacheDirectory) throws(CacheError) -> Bool {
        if try directory.root.status(of: CacheLayout.damage) != nil { return true }
        return try isIndexGone(from: directory)
    }

    /// Whether there are objects but no index. With `waiting`, first waits for a process that may
    /// be creating the index.
    static func isIndexGone(
        from directory: CacheDirectory, waiting: Bool = false
    ) throws(CacheError) -> Bool {
        guard try directory.root.status(of: CacheLayout.index)?.st_size ?? 0 == 0,
            try ObjectTree(directory).root()?.names().contains(where: { $0.isHex(2) }) == true
        else { return false }
        guard waiting else { return true }
        _ = try directory.openingLock()
        return try isIndexGone(from: directory)
    }

    static func runIfDue(in directory: CacheDirectory) throws(CacheError) -> RecoveryReport? {
        guard try isDue(in: directory) else { return nil }
        let lock = try directory.openingLock()
        defer { withExtendedLifetime(lock) {} }
        guard try isDue(in: directory) else { return nil }
        return try IndexRecovery(directory).rebuild()
    }

    /// Requests a rebuild. The index stays in place, because other processes may be using it.
    static func markDamage(in directory: CacheDirectory) {
        _ = try? directory.root.createOrOpen(CacheLayout.damage)
    }

    func rebuild(
        describe: (([UInt8]) -> ObjectAttributes?)? = nil,
        isCancelled: @escaping @Sendable () -> Bool = { false },
        onProgress: (ObjectProgress) -> Void = { _ in }
    ) throws(CacheError) -> RecoveryReport {
        defer { run.remove() }
        var report = RecoveryReport()
        let (draft, name) = (run.uniqueName(), run.uniqueName())
        var stop: DatabaseQueue?
        defer { try? stop?.close() }
        do {
            try CacheIndex.refuseNewerVersion(of: DatabaseFile(CacheLayout.index, in: directory))
            directory.removeForeignJournals()
            let database = try DatabaseFile(draft, of: run, in: directory).open(.making)
            report.source = try copyRows(to: database, &stop, unless: isCancelled)
            try database.writeWithoutTransaction { try IndexSchema.migrate($0) }
            try compareWithTree(database, &report, describe, unless: isCancelled, onProgress)
            _ = try database.write { try FailureTable.trim($0) }
            try database.compact(into: DatabaseFile(name, of: run, in: directory))
            try database.close()
            run.remove(draft)
        } catch is CancellationError {
            report.isInterrupted = true
            return report
        } catch {
            let error = error as? CacheError ?? CacheError(index: CacheLayout.index, error)
            // A new file that is damaged shows that the disk is failing.
            throw error.isDamage
                ? CacheError("read", subject: CacheLayout.index, errno: EIO) : error
        }
        report.setAside = try setAside(isDamaged: report.source != .index)
        try run.publish(name, as: CacheLayout.index, in: directory.root)
        unlinkat(directory.root.raw, CacheLayout.damage, 0)
        directory.log(
            .notice,
            """
            rebuilt the index from \(report.source.rawValue): \(report.objects) objects, \
            \(report.resources) resources, \(report.damaged) damaged files\
            \(report.setAside.map { "; the damaged index is now \($0)" } ?? "")
            """)
        return report
    }

    /// Copies the rows of an intact source. Blocks other writers until `stop` is closed.
    private func copyRows(
        to database: DatabaseQueue, _ stop: inout DatabaseQueue?,
        unless isCancelled: @escaping @Sendable () -> Bool
    ) throws -> RecoveryReport.Source {
        var configuration = Configuration()
        let wait = WriterWait(directory.wait, subject: directory.indexPath)
        configuration.busyMode = .callback(wait.retry)
        configuration.allowsUnsafeTransactions = true
        // Blocks other writers, because their commits would be lost.
        func stopCommits(to file: DatabaseFile) throws -> DatabaseQueue {
            let database = try file.open(.writing, configuration)
            try database.execute("BEGIN IMMEDIATE")
            return database
        }
        for source in [RecoveryReport.Source.index, .snapshot] {
            let name = source == .index ? CacheLayout.index : CacheLayout.snapshot
            // SQLite would follow a link that leads out of the root.
            guard try directory.root.status(of: name)?.isRegularFile == true else { continue }
            do {
                let file = DatabaseFile(name, in: directory)
                // A snapshot is a single file, so it is read without a log.
                let old = try file.open(source == .index ? .writing : .alone, configuration)
                defer { try? old.close() }
                let isIntact =
                    try old.unsafeRead { try CacheIndex.migrations(in: $0, file) } != nil
                    && file.hasWrittenFormat()
                let complaints = try old.read(unless: isCancelled) {
                    try $0.complaints(isQuick: true, limit: 100)
                }
                // Rows that violate a constraint are deleted below.
                guard isIntact, complaints.allSatisfy({ $0.hasPrefix("CHECK constraint failed") })
                else {
                    if source == .index { stop = try? stopCommits(to: file) }
                    continue
                }
                // The copy must include all commits, because the old index and its log are removed.
                if source == .index {
                    _ = try old.writeWithoutTransaction { try $0.checkpoint(.truncate) }
                    stop = try stopCommits(to: file)
                    // Later commits must be in the file, in case of a kill after the log's removal.
                    _ = try old.writeWithoutTransaction { try $0.checkpoint(.passive) }
                }
                try old.copy(to: database, unless: isCancelled)
                try database.writeWithoutTransaction { db in
                    try db.execute(sql: "PRAGMA journal_mode = MEMORY")
                    for (table, condition) in IndexSchema.brokenRows {
                        // Resources of deleted objects remain until their URLs have been recorded.
                        let key = table == "objects" ? "OFF" : "ON"
                        try db.execute(sql: "PRAGMA foreign_keys = \(key)")
                        // An older index may lack the table.
                        try? db.execute(sql: "DELETE FROM \(table) WHERE \(condition)")
                    }
                    // Migrations must accept resources without an object.
                    try db.execute(sql: "PRAGMA foreign_keys = OFF")
                    // A quick check does not compare rows with indexes, so the indexes are rebuilt.
                    try db.execute(sql: "REINDEX")
                }
                let rest = try database.read(unless: isCancelled) {
                    try $0.complaints(isQuick: false, limit: 1)
                }
                if let complaint = rest.first { throw DatabaseError.corruption(complaint) }
                return source
            } catch let error as DatabaseError {
                let isConstraint = error.resultCode == .SQLITE_CONSTRAINT
                // On a failing disk, rows that cannot be read may be intact, so the rebuild fails.
                let error = CacheError(index: "\(directory.path)/\(name)", error)
                guard error.isDamage || isConstraint else { throw error }
                try DatabaseQueue().backup(to: database)
            }
        }
        return .nothing
    }

    /// Removes the rows of damaged objects, but records their URLs. Adds missing rows of objects.
    private func compareWithTree(
        _ database: DatabaseQueue, _ report: inout RecoveryReport,
        _ describe: (([UInt8]) -> ObjectAttributes?)?, unless isCancelled: () -> Bool,
        _ onProgress: (ObjectProgress) -> Void
    ) throws {
        let reader = ObjectReader(directory.sparse)
        let start = ContinuousClock.now
        var progress = ObjectProgress()
        try database.writeWithoutTransaction { db in
            let known = try Int.fetchOne(db, sql: "SELECT count(*) FROM objects") ?? 0
            if report.source != .nothing { progress.total = known }
            try db.execute(
                sql: """
                    PRAGMA foreign_keys = ON;
                    CREATE TEMP TABLE found (digest BLOB PRIMARY KEY) WITHOUT ROWID
                    """)
            try db.inTransaction {
                // Resources without an object are deleted first, because an added object could get
                // the missing object's row number.
                try DroppedResource.keep(in: db, where: "o.id IS NULL")
                try db.execute(
                    sql: "DELETE FROM resources WHERE object NOT IN (SELECT id FROM objects)")
                let insert = try db.prepared(
                    """
                    INSERT INTO objects (digest, size, stored_at, used_at)
                    VALUES (?1, ?2, ?3, ?3)
                    ON CONFLICT (digest) DO UPDATE SET size = excluded.size
                    RETURNING width IS NULL
                    """)
                let setAttributes = try db.prepared(
                    "UPDATE objects SET media_type = ?, width = ?, height = ? WHERE digest = ?")
                let mark = try db.prepared("INSERT INTO temp.found VALUES (?)")
                try ObjectTree(directory).walk { (entry) throws(CacheError) in
                    guard let digest = entry.digest, !isCancelled(),
                        let (isGood, whole) = try Self.check(entry, digest, reader, isCancelled)
                    else { return }
                    do {
                        progress.objects += 1
                        progress.seconds = (ContinuousClock.now - start) / .seconds(1)
                        if let whole {
                            report.objects += 1
                            progress.bytes += whole.size
                            let lacksWidth =
                                try insert.firstInteger(digest, whole.size, whole.modified) == 1
                            // The size is limited, because the bytes are in memory.
                            if let describe, lacksWidth, whole.size <= 16 << 20,
                                let file = try? entry.parent.file(entry.name),
                                let bytes = try? file.read(at: 0, atMost: Int(whole.size)),
                                let found = describe(bytes)
                            {
                                try setAttributes.run(
                                    found.mediaType, found.width, found.height, digest)
                            }
                        } else {
                            report.damaged += 1
                        }
                        guard isGood else {
                            return try DroppedResource.keep(in: db, where: "o.digest = ?", digest)
                        }
                        try mark.run(digest)
                        onProgress(progress)
                    } catch { throw CacheError(index: CacheLayout.index, error) }
                }
                if isCancelled() { throw CancellationError() }
                let isMissing = "digest NOT IN (SELECT digest FROM temp.found)"
                // An object that is in the snapshot but now missing may have been evicted.
                if report.source == .index {
                    try DroppedResource.keep(in: db, where: "o.\(isMissing)")
                }
                // Unreadable objects keep their rows, because they may be intact.
                try db.execute(sql: "DELETE FROM objects WHERE \(isMissing)")
                return .commit
            }
            report.resources = try Int.fetchOne(db, sql: "SELECT count(*) FROM resources") ?? 0
            try db.execute(sql: "DROP TABLE temp.found")
        }
    }

    /// Checks an object's file. Returns nil if cancelled. An unreadable file counts as good.
    private static func check(
        _ entry: ObjectTree.Entry, _ digest: Digest, _ reader: ObjectReader,
        _ isCancelled: () -> Bool
    ) throws(CacheError) -> (isGood: Bool, whole: (size: Int64, modified: TimeInterval)?)? {
        do throws(CacheError) {
            let file = try entry.parent.file(entry.name)
            let status = try file.status()
            guard status.isRegularFile else { return (false, nil) }
            guard let read = try reader.digest(file, expecting: digest, isCancelled: isCancelled)
            else { return nil }
            guard read.digest == digest else { return (false, nil) }
            // A copied file can have a time that is invalid in an index.
            let modified = min(max(TimeInterval(status.modified.tv_sec), 0), RowReader.longestTime)
            return (true, (Int64(status.st_size), modified))
        } catch  where error.isAbsence {
            return (false, nil)
        } catch  where error.isSparse || [EACCES, EIO].contains(error.errno) { return (true, nil) }
    }

    private func setAside(isDamaged: Bool) throws(CacheError) -> String? {
        var kept: String?
        let time = UTCTime.name(Date())
        var (target, serial) = (CacheLayout.setAside(at: time), 1)
        while try directory.root.status(of: target) != nil {
            serial += 1
            target = CacheLayout.setAside(at: "\(time)-\(serial)")
        }
        // The index is moved first, because without its log it may look sound but be outdated.
        for name in CacheLayout.indexFiles where try directory.root.status(of: name) != nil {
            if isDamaged {
                let suffix = name.dropFirst(CacheLayout.index.count)
                try directory.root.rename(name, to: directory.root, as: target + suffix)
                if suffix.isEmpty { kept = target }
            } else if name != CacheLayout.index {
                // The old log must not be applied to the new index.
                try directory.root.removeFile(name)
            }
        }
        return kept
    }
}

/// The result of rebuilding an index.
public struct RecoveryReport: Sendable, Equatable {
    /// A source of URLs and validators.
    public enum Source: String, Sendable, CaseIterable {
        /// The intact old index.
        case index
        /// The last snapshot of the index.
        case snapshot
        /// No source. The objects are kept, but their URLs are lost.
        case nothing
    }

    /// The source that was used.
    public internal(set) var source = Source.nothing
    /// The number of intact objects in the new index.
    public internal(set) var objects = 0
    /// The number of resources in the new index.
    public internal(set) var resources = 0
    /// The number of damaged or unreadable objects.
    public internal(set) var damaged = 0
    /// Whether the rebuild was cancelled and changed nothing.
    public internal(set) var isInterrupted = false
    /// The name under which the damaged index is kept in the root, if any.
    public internal(set) var setAside: String?
}
