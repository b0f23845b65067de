import Foundation
import GRDB

/// Makes staged bodies durable and records them, a batch at a time.
///
/// The order that the cache's promises rest on, for at most ``batchLimit`` deposits or
/// ``batchInterval``: staged and digested → synced → renamed into place → synced → committed to
/// the index → reported. Bytes are durable before they get their name, so that an object put in
/// another process's place is never less durable than the one it replaces; and an index row is
/// never older than the name it vouches for. The second sync covers the renames' directories.
public final class Store: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`, but for `report` and
    // `failure`, which belong to the serial queue `commits`.

    /// A batch is committed when it holds this many deposits, …
    public static let batchLimit = 500
    /// … or when its first deposit is this old.
    public static let batchInterval: TimeInterval = 1

    /// Digests remembered so that the same bytes are not staged twice; forgotten all at once.
    private static let rememberedLimit = 65_536

    /// What became of a deposit.
    public struct Outcome: Sendable {
        /// The deposit's token.
        public let token: Int64
        /// The object now recorded and durable, or why there is none.
        public let result: Result<Digest, CacheError>
    }

    private let directory: CacheDirectory
    private let index: CacheIndex
    private let run: RunDirectory
    private let commits = DispatchQueue(label: "larder.store")

    private let lock = NSLock()
    private var pending: [Deposit] = []
    /// Digests of this run's own deposits: what comes after one of them finds its object stored.
    private var deposited: Set<Digest> = []
    private var waiting: [@Sendable () -> Void] = []
    private var batchNumber = 0
    private var report: @Sendable ([Outcome]) -> Void = { _ in }
    private var failure: CacheError?

    init(directory: CacheDirectory, index: CacheIndex) throws(CacheError) {
        self.directory = directory
        self.index = index
        try RunDirectory.sweepAbandoned(in: directory)
        run = try RunDirectory(in: directory)
    }

    /// Sets what is called with the outcomes of each batch, on the store's own queue. To be set
    /// before the first deposit; default: nothing.
    public func onCommit(_ report: @escaping @Sendable ([Outcome]) -> Void) {
        commits.sync { self.report = report }
    }

    /// The path of a file of this run's own, removed when the run ends.
    public func scratchPath(_ name: String) -> String {
        "\(directory.path)/\(CacheLayout.temporary)/\(run.name)/\(name)"
    }

    /// A body to be filled. `onDrained` is called after ``StagedBody/append(_:)`` answered `full`.
    public func newBody(onDrained: @escaping @Sendable () -> Void) -> StagedBody {
        StagedBody(run: run, onDrained: onDrained)
    }

    /// Puts a finished body where the next batch picks it up.
    ///
    /// An object that is there already is trusted only if the index vouches for it and its file
    /// has the right size; otherwise the staged bytes will replace it.
    public func stage(
        _ body: StagedBody, digest: Digest, attributes: ObjectAttributes
    ) throws(CacheError) -> StagedObject {
        let size = body.count
        // The file first: in a cold cache that answers without the index.
        var isStored = lock.withLock { deposited.contains(digest) }
        if !isStored, try directory.size(of: digest) == size {
            isStored = try index.object(digest) != nil
        }
        return StagedObject(
            digest: digest, size: size, attributes: attributes,
            file: isStored ? nil : try body.takeFile())
    }

    /// Adds a deposit to the current batch.
    ///
    /// - Parameter accepted: called when there is room for another: at once, or once the disk has
    ///   caught up.
    public func add(_ deposit: Deposit, accepted: @escaping @Sendable () -> Void) {
        lock.lock()
        pending.append(deposit)
        if case .staged(let object) = deposit.content {
            if deposited.count >= Self.rememberedLimit { deposited.removeAll() }
            deposited.insert(object.digest)
        }
        let number = batchNumber
        let count = pending.count
        let isFull = count >= 2 * Self.batchLimit
        if isFull { waiting.append(accepted) }
        lock.unlock()

        if count == Self.batchLimit {
            commits.async { [self] in commitPending() }
        } else if count == 1 {
            commits.asyncAfter(deadline: .now() + Self.batchInterval) { [self] in
                if lock.withLock({ batchNumber == number }) { commitPending() }
            }
        }
        if !isFull { accepted() }
    }

    /// Commits what is pending; returns when it and every earlier batch has been reported.
    public func flush() { commits.sync { commitPending() } }

    /// Runs `body` after the batches before it were reported, never beside one.
    public func afterCommits(_ body: @escaping @Sendable () -> Void) {
        commits.async(execute: body)
    }

    /// Removes the run's directory with all that is in it; nothing can be staged any more.
    public func close() { run.remove() }

    private func commitPending() {
        let (batch, released) = lock.withLock {
            defer { (pending, waiting, batchNumber) = ([], [], batchNumber + 1) }
            return (pending, waiting)
        }
        for accepted in released { accepted() }
        guard !batch.isEmpty else { return }
        do throws(CacheError) {
            // After a sync or a commit failed, nothing that the kernel says later can be trusted.
            if let failure { throw failure }
            report(try commit(batch))
        } catch {
            failure = error
            for case .staged(let object) in batch.map(\.content) {
                if let file = object.file { run.remove(file) }
            }
            report(batch.map { Outcome(token: $0.token, result: .failure(error)) })
        }
    }

    private func commit(_ batch: [Deposit]) throws(CacheError) -> [Outcome] {
        var files: [Digest: String] = [:]
        for case .staged(let object) in batch.map(\.content) {
            guard let file = object.file else { continue }
            if let twin = files.updateValue(file, forKey: object.digest), twin != file {
                run.remove(twin)
            }
        }
        if !files.isEmpty {
            for file in files.values {
                try Durability.add(
                    try FileDescriptor.open(file, beneath: run.directory, flags: O_RDONLY))
            }
            try Durability.flush(directory.root)
            try publish(files)
            try Durability.flush(directory.root)
        }
        return try record(batch)
    }

    /// Renames staged files to their digests, one directory after another.
    private func publish(_ files: [Digest: String]) throws(CacheError) {
        let objects = try directory.objects(create: true)
        for (name, group) in Dictionary(grouping: files, by: { CacheLayout.fanOut($0.key) }) {
            let fanOut = try FileDescriptor.directory(name, beneath: objects, create: true)
            for (digest, file) in group {
                guard renameat(run.directory.raw, file, fanOut.raw, digest.hex) == 0 else {
                    throw CacheError("rename", subject: CacheLayout.path(digest), errno: errno)
                }
            }
            try Durability.add(fanOut)
        }
        try Durability.add(objects)
    }

    private func record(_ batch: [Deposit]) throws(CacheError) -> [Outcome] {
        var outcomes: [Outcome] = []
        try index.write { db in
            outcomes = []
            for deposit in batch {
                let row: Int64?
                let digest: Digest
                switch deposit.content {
                case .staged(let object):
                    digest = object.digest
                    row = try Self.record(object, in: db)
                case .unchanged(let known):
                    digest = known
                    row = try Self.row(of: known, in: db)
                }
                guard let row else {
                    // Its bytes are to be staged when they come again.
                    lock.withLock { _ = deposited.remove(digest) }
                    outcomes.append(
                        Outcome(
                            token: deposit.token,
                            result: .failure(
                                CacheError(
                                    .missing, subject: "\(digest)",
                                    message: "was evicted by another process meanwhile"))))
                    continue
                }
                try Self.record(deposit, object: row, in: db)
                outcomes.append(Outcome(token: deposit.token, result: .success(digest)))
            }
        }
        return outcomes
    }

    private static func row(of digest: Digest, in db: Database) throws -> Int64? {
        try Int64.fetchOne(
            try db.cachedStatement(sql: "SELECT id FROM objects WHERE digest = ?"),
            arguments: [digest.blob])
    }

    /// The row of an object, made if its bytes are this run's; nil if it was evicted meanwhile.
    private static func record(_ object: StagedObject, in db: Database) throws -> Int64? {
        if let row = try row(of: object.digest, in: db) { return row }
        guard object.file != nil else { return nil }
        let insert = try db.cachedStatement(
            sql: """
                INSERT INTO objects (digest, size, media_type, width, height, stored_at)
                VALUES (?, ?, ?, ?, ?, ?)
                """)
        try insert.execute(arguments: [
            object.digest.blob, object.size, object.attributes.mediaType, object.attributes.width,
            object.attributes.height, Date().timeIntervalSince1970,
        ])
        return db.lastInsertedRowID
    }

    private static func record(_ deposit: Deposit, object: Int64, in db: Database) throws {
        let validators = deposit.validators
        let freshUntil = Freshness.expiry(of: validators, receivedAt: deposit.receivedAt)
        let upsert = try db.cachedStatement(
            sql: """
                INSERT INTO resources (key, url, object, etag, last_modified, date, age,
                    cache_control, expires, received_at, fresh_until)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (key) DO UPDATE SET
                    url = excluded.url, object = excluded.object, etag = excluded.etag,
                    last_modified = excluded.last_modified, date = excluded.date,
                    age = excluded.age, cache_control = excluded.cache_control,
                    expires = excluded.expires, received_at = excluded.received_at,
                    fresh_until = excluded.fresh_until
                """)
        try upsert.execute(arguments: [
            deposit.key, deposit.url == deposit.key ? nil : deposit.url, object, validators.etag,
            validators.lastModified, validators.date, validators.age, validators.cacheControl,
            validators.expires, deposit.receivedAt.timeIntervalSince1970,
            freshUntil.timeIntervalSince1970,
        ])
    }
}
