import Foundation
import GRDB
import LarderCore

/// Makes staged bodies durable and records them, a batch at a time.
///
/// The order that the cache's promises rest on, for at most ``batchLimit`` deposits or
/// ``batchInterval``: staged and digested → synced → renamed into place → synced → committed to
/// the index → reported. Bytes are durable before they get their name, so that an object put in
/// another process's place is never less durable than the one it replaces; and an index row is
/// never older than the name it vouches for. The second sync covers the renames' directories.
package final class Store: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`, but for
    // `failure`, `hasCommitted` and `remembered`, which belong to the serial queue `commits`.

    /// A batch is committed when it holds this many deposits, …
    package static let batchLimit = 500
    /// … or when its first deposit is this old.
    package static let batchInterval: TimeInterval = 1
    /// Digests remembered so that the same bytes are not staged twice; forgotten all at once.
    private static let rememberedLimit = 65_536

    package struct Outcome: Sendable {
        package let context: (any Sendable)?
        /// The durable object, nil if there is none to record; or why it could not be.
        package let result: Result<Digest?, CacheError>
    }

    private let directory: CacheDirectory
    private let index: CacheIndex
    private let run: RunDirectory
    package let partials: PartialBodies
    private let commits = DispatchQueue(label: "larder.store")
    private let lock = NSLock()
    private var pending: [Deposit] = []
    /// The depositor of each of them.
    private var depositors: [(any Depositor)?] = []
    /// Digests of this run's own deposits: what comes after one of them finds its object stored.
    private var deposited: Set<Digest> = []
    /// Whether the index had no objects at the start: storing other runs' again does no harm.
    private var isCold: Bool
    private var waiting: [@Sendable () -> Void] = []
    private var batchNumber = 0
    private var failure: CacheError?
    private var hasCommitted = false
    /// How many failures the index remembers at most, and their bytes; nil until one is added.
    private var remembered: (rows: Int, bytes: Int)?

    init(directory: CacheDirectory, index: CacheIndex) throws(CacheError) {
        self.directory = directory
        self.index = index
        isCold = try index.lookUp { db in
            try db.prepared("SELECT 1 FROM objects LIMIT 1").firstInteger() == nil
        }
        // What is left over is no reason not to begin.
        _ = try? RunDirectory.sweepAbandoned(in: directory)
        run = try RunDirectory(in: directory)
        partials = try PartialBodies(in: directory, run: run)
    }

    package func scratchPath(_ name: String) -> String { directory.path(of: name, in: run) }

    /// Returns an empty body. `onDrained` is called after ``StagedBody/append(_:)`` returned full.
    package func newBody(
        expecting expected: Int? = nil, onDrained: @escaping @Sendable () -> Void
    ) -> StagedBody {
        StagedBody(run: run, expecting: expected, onDrained: onDrained)
    }

    /// Returns a body with the bytes that `fill` hands over. Waits for the disk.
    package func newBody(
        filledBy fill: (_ append: (UnsafeRawBufferPointer) throws -> Void) throws -> Void
    ) throws -> StagedBody {
        let drained = DispatchSemaphore(value: 0)
        let body = newBody { drained.signal() }
        try fill { bytes in
            while try body.append(bytes) == .full { drained.wait() }
        }
        return body
    }

    package func newBody(
        continuing partial: PartialBody, onDrained: @escaping @Sendable () -> Void
    ) throws(CacheError) -> StagedBody {
        try StagedBody(run: run, continuing: partial, onDrained: onDrained)
    }

    /// Puts a finished body where the next batch picks it up. An existing object is trusted only if
    /// the index has it, its file has the right size, and `isReplacing` is not set.
    package func stage(
        _ body: StagedBody, digest: Digest, attributes: ObjectAttributes, isReplacing: Bool = false
    ) throws(CacheError) -> StagedObject {
        if !isReplacing, let stored = try stored(digest, size: body.count, attributes: attributes) {
            return stored
        }
        return StagedObject(
            digest: digest, size: body.count, attributes: attributes, file: try body.takeFile())
    }

    /// The object with a digest, if its bytes need not be staged; nil if they must.
    package func stored(
        _ digest: Digest, size: Int64, attributes: ObjectAttributes
    ) throws(CacheError) -> StagedObject? {
        var (isStored, isCold) = lock.withLock { (deposited.contains(digest), self.isCold) }
        // The file first: if much is new, that answers without the index.
        if !isStored, !isCold, try directory.isPresent(digest, size: size) {
            isStored = try index.object(digest) != nil
        }
        guard isStored else { return nil }
        return StagedObject(digest: digest, size: size, attributes: attributes, file: nil)
    }

    /// Adds a deposit to the current batch, and retains the depositor until it has the outcome.
    /// Calls `accepted` when there is room for another: at once, or once the disk has caught up.
    package func add(
        _ deposit: Deposit, for depositor: (any Depositor)? = nil,
        accepted: @escaping @Sendable () -> Void = {}
    ) {
        lock.lock()
        pending.append(deposit)
        depositors.append(depositor)
        if case .staged(let object) = deposit.content {
            if deposited.count >= Self.rememberedLimit {
                deposited.removeAll()
                isCold = false
            }
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
            // Weak, or the cache's lock would outlive its last user by the rest of the interval.
            commits.asyncAfter(deadline: .now() + Self.batchInterval) { [weak self] in
                guard let self, lock.withLock({ self.batchNumber == number }) else { return }
                commitPending()
            }
        }
        if !isFull { accepted() }
    }

    /// Commits what is pending; returns when it and every earlier batch has been reported.
    package func flush() { commits.sync { commitPending() } }

    package func afterCommits(_ body: @escaping @Sendable () -> Void) {
        commits.async(execute: body)
    }

    /// Takes a snapshot if the index has changed, and removes the run's directory for good.
    package func close() {
        commits.sync {
            if hasCommitted, failure == nil {
                index.trySnapshot(in: run)
                Reserve(directory: directory).take()
            }
        }
        run.remove()
        partials.close()
    }

    private func commitPending() {
        let (deposits, owners, released) = lock.withLock {
            defer { (pending, depositors, waiting, batchNumber) = ([], [], [], batchNumber + 1) }
            return (pending, depositors, waiting)
        }
        for accepted in released { accepted() }
        guard !deposits.isEmpty else { return }
        let outcomes: [Outcome]
        let start = ContinuousClock.now
        do throws(CacheError) {
            // After a sync or a commit failed, nothing that the kernel says later can be trusted.
            if let failure { throw failure }
            outcomes = try commit(deposits)
            hasCommitted = true
            directory.log(.debug, Self.summary(of: deposits, since: start))
        } catch {
            failure = error
            directory.log(.warning, "could not commit \(deposits.count) deposits: \(error)")
            for case .staged(let object) in deposits.map(\.content) {
                if let file = object.file { run.remove(file) }
            }
            outcomes = deposits.map { Outcome(context: $0.context, result: .failure(error)) }
        }
        report(outcomes, to: owners)
    }

    private static func summary(
        of deposits: [Deposit], since start: ContinuousClock.Instant
    ) -> String {
        var bytes: Int64 = 0
        for case .staged(let object) in deposits.map(\.content) { bytes += object.size }
        let time = DurationText.describe((ContinuousClock.now - start) / .seconds(1))
        return "committed \(deposits.count) deposits, \(bytes) bytes, in \(time)"
    }

    private func report(_ outcomes: [Outcome], to depositors: [(any Depositor)?]) {
        var shares: [ObjectIdentifier: (depositor: any Depositor, outcomes: [Outcome])] = [:]
        for (outcome, depositor) in zip(outcomes, depositors) {
            guard let depositor else { continue }
            shares[ObjectIdentifier(depositor), default: (depositor, [])].outcomes.append(outcome)
        }
        for (depositor, outcomes) in shares.values { depositor.committed(outcomes) }
    }

    private func commit(_ batch: [Deposit]) throws(CacheError) -> [Outcome] {
        var files: [Digest: String] = [:]
        var obstructions: [Digest: CacheError] = [:]
        for case .staged(let object) in batch.map(\.content) {
            guard let file = object.file else { continue }
            if let twin = files.updateValue(file, forKey: object.digest), twin != file {
                run.remove(twin)
            }
        }
        if !files.isEmpty {
            for file in files.values { try Durability.add(try run.directory.file(file)) }
            try Durability.flush(directory.root)
            obstructions = try run.publish(files, in: directory)
            try Durability.flush(directory.root)
        }
        for digest in obstructions.keys {
            if let file = files.removeValue(forKey: digest) { run.remove(file) }
        }
        return try record(batch, published: files.keys, obstructions)
    }

    private func record(
        _ batch: [Deposit], published: some Collection<Digest>, _ obstructions: [Digest: CacheError]
    ) throws(CacheError) -> [Outcome] {
        var outcomes: [Outcome] = []
        try index.write { db in
            outcomes = []
            // An eviction removes files without rows, inside of write transactions: what is still
            // there now stays. What is gone had the digest of an object that was just evicted.
            let vanished = try directory.absent(published)
            var failures = try FailureTable(db)
            let rows = try DepositRows(db)
            for deposit in batch {
                if case .staged(let object) = deposit.content,
                    let obstruction = obstructions[object.digest]
                {
                    forget(object.digest)
                    outcomes.append(.init(context: deposit.context, result: .failure(obstruction)))
                    continue
                }
                let result = try record(deposit, vanished: vanished, &failures, rows)
                outcomes.append(Outcome(context: deposit.context, result: result))
            }
            try bound(failures, db)
        }
        return outcomes
    }

    /// Keeps remembered failures within bounds. Counts them once, and then when enough were added.
    private func bound(_ failures: FailureTable, _ db: Database) throws {
        guard failures.added.rows > 0 else { return }
        if let known = remembered {
            remembered = (known.rows + failures.added.rows, known.bytes + failures.added.bytes)
        }
        guard let known = remembered, known.rows <= FailureTable.rowLimit,
            known.bytes <= FailureTable.byteLimit
        else {
            remembered = try FailureTable.trim(db, at: Date(), to: remembered == nil ? 1 : 0.75)
            return
        }
    }

    private func record(
        _ deposit: Deposit, vanished: Set<Digest>, _ failures: inout FailureTable,
        _ rows: DepositRows
    ) throws -> Result<Digest?, CacheError> {
        let row: Int64?
        let digest: Digest
        switch deposit.content {
        case .staged(let object):
            digest = object.digest
            row = try rows.record(object, isGone: vanished.contains(digest), at: deposit.receivedAt)
        case .unchanged(let known), .kept(let known):
            digest = known
            row = try rows.use(known, at: deposit.receivedAt)
        case .unstored:
            try failures.remove(deposit.key)
            return .success(nil)
        case .failed(let code, let status):
            try failures.add(
                deposit.key, url: deposit.url, code: code, status: status, at: deposit.receivedAt)
            return .success(nil)
        }
        guard let row else {
            forget(digest)
            let message = "was evicted by another process meanwhile"
            return .failure(CacheError(.missing, subject: "\(digest)", message: message))
        }
        try failures.remove(deposit.key)
        if case .kept = deposit.content { return .success(digest) }
        try rows.record(deposit, object: row)
        return .success(digest)
    }

    private func forget(_ digest: Digest) { lock.withLock { _ = deposited.remove(digest) } }
}
