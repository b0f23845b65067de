import Foundation
import GRDB
import LarderCore

/// A writer that makes staged bodies durable and records them in the index, in batches.
///
/// The order of steps matters: stage and digest → sync → rename into place → sync → commit to the
/// index → report. Objects are durable before the rename, because they may replace another
/// process's durable copies. The second sync makes the directories durable, so that the index never
/// has an object without a file.
package final class Store: @unchecked Sendable {
    // Unchecked because `lock` guards the variables, except for `failure`, `hasCommitted`,
    // `remembered` and `presence`, which belong to the serial queue `commits`.

    package static let batchLimit = 500
    package static let batchInterval: TimeInterval = 1
    private static let depositedLimit = 65_536
    /// The maximum number of committed batches not yet reported. Further commits wait.
    static let reportLimit = 2

    package struct Outcome: Sendable {
        package let context: (any Sendable)?
        package let result: Result<Digest?, CacheError>
    }

    private let directory: CacheDirectory
    private let index: CacheIndex
    private let run: RunDirectory
    private let presence: ObjectPresence
    package let partials: PartialBodies
    private let commits = DispatchQueue(label: "larder.store")
    private let reports = DispatchQueue(label: "larder.reports")
    private let reportSlots = DispatchSemaphore(value: reportLimit)
    private let lock = NSLock()
    private var pending: [(deposit: Deposit, depositor: (any Depositor)?)] = []
    /// The objects deposited in this run, which need not be staged again.
    private var deposited: Set<Digest> = []
    /// Whether the index was empty at the start. If it was, only `deposited` is searched.
    private var isCold: Bool
    private var waiting: [@Sendable () -> Void] = []
    private var batchNumber = 0
    private var failure: CacheError?
    private var hasCommitted = false
    /// Upper bounds on the number and size of recorded failures; nil until a failure is added.
    private var remembered: (rows: Int, bytes: Int)?

    init(directory: CacheDirectory, index: CacheIndex) throws(CacheError) {
        (self.directory, self.index) = (directory, index)
        var isEmpty = false
        // With the writer, so that a run without work opens no separate connection for reading.
        try index.withWriter {
            isEmpty = try $0.prepared("SELECT 1 FROM objects LIMIT 1").firstInteger() == nil
        }
        isCold = isEmpty
        _ = try? directory.sweepRuns()
        run = try RunDirectory(in: directory)
        presence = ObjectPresence(in: directory)
        partials = try PartialBodies(in: directory, run: run)
    }

    package func scratchPath(_ name: String) -> String { directory.path(of: name, in: run) }

    package func newBody(
        expecting expected: Int? = nil, onDrained: @escaping @Sendable () -> Void
    ) -> StagedBody { StagedBody(run: run, expecting: expected, onDrained: onDrained) }

    package func newBody(
        filledBy fill: (_ append: (UnsafeRawBufferPointer) throws -> Void) throws -> Void
    ) throws -> StagedBody {
        let drained = DispatchSemaphore(value: 0)
        let body = newBody { drained.signal() }
        try fill { bytes in
            while try !body.append(bytes) { drained.wait() }
        }
        return body
    }

    package func stage(
        _ body: StagedBody, digest: Digest, attributes: ObjectAttributes, isReplacing: Bool = false
    ) throws(CacheError) -> StagedObject {
        if !isReplacing, let stored = try stored(digest, size: body.count, attributes: attributes) {
            return stored
        }
        return StagedObject(
            digest: digest, size: body.count, attributes: attributes, file: try body.takeFile())
    }

    package func stored(
        _ digest: Digest, size: Int64, attributes: ObjectAttributes
    ) throws(CacheError) -> StagedObject? {
        var (isStored, isCold) = lock.withLock { (deposited.contains(digest), self.isCold) }
        // For new objects, checking the file first is faster.
        if !isStored, !isCold, try directory.isPresent(digest, size: size) {
            isStored = try index.object(digest) != nil
        }
        guard isStored else { return nil }
        return StagedObject(digest: digest, size: size, attributes: attributes, file: nil)
    }

    /// Adds a deposit. Calls `accepted` when the store can take another one.
    package func add(
        _ deposit: Deposit, for depositor: (any Depositor)? = nil,
        accepted: @escaping @Sendable () -> Void = {}
    ) {
        lock.lock()
        pending.append((deposit, depositor))
        if let object = deposit.staged {
            if deposited.count >= Self.depositedLimit {
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
            // Weak, so that the cache's lock is released with the store's last user.
            commits.asyncAfter(deadline: .now() + Self.batchInterval) { [weak self] in
                guard let self, lock.withLock({ self.batchNumber == number }) else { return }
                commitPending()
            }
        }
        if !isFull { accepted() }
    }

    /// Commits all deposits, and returns when all batches have been reported.
    package func flush() {
        commits.sync { commitPending() }
        reports.sync {}
    }

    /// Calls `body` on the report queue, after the reports of earlier batches.
    package func afterCommits(_ body: @escaping @Sendable () -> Void) {
        commits.async { [reports] in reports.async(execute: body) }
    }

    package func close() {
        commits.sync {
            if hasCommitted, failure == nil {
                index.trySnapshot(in: run)
                directory.takeReserve()
            }
        }
        reports.sync {}
        run.remove()
        partials.close()
    }

    private func commitPending() {
        let (batch, released) = lock.withLock {
            defer { (pending, waiting, batchNumber) = ([], [], batchNumber + 1) }
            return (pending, waiting)
        }
        for accepted in released { accepted() }
        guard !batch.isEmpty else { return }
        let deposits = batch.map(\.deposit)
        let outcomes: [Outcome]
        let start = ContinuousClock.now
        do throws(CacheError) {
            // After a failed sync or commit, a later success cannot be trusted.
            if let failure { throw failure }
            outcomes = try commit(deposits)
            hasCommitted = true
            let bytes = deposits.reduce(0) { $0 + ($1.staged?.size ?? 0) }
            let time = DurationText.describe((ContinuousClock.now - start) / .seconds(1))
            directory.log(
                .debug, "committed \(deposits.count) deposits, \(bytes) bytes, in \(time)")
        } catch {
            failure = error
            directory.log(.warning, "could not commit \(deposits.count) deposits: \(error)")
            for file in deposits.compactMap(\.staged?.file) { run.remove(file) }
            outcomes = deposits.map { Outcome(context: $0.context, result: .failure(error)) }
        }
        var shares: [ObjectIdentifier: (depositor: any Depositor, outcomes: [Outcome])] = [:]
        for (outcome, entry) in zip(outcomes, batch) {
            guard let depositor = entry.depositor else { continue }
            shares[ObjectIdentifier(depositor), default: (depositor, [])].outcomes.append(outcome)
        }
        reportSlots.wait()
        reports.async { [reportSlots, shares] in
            for (depositor, outcomes) in shares.values { depositor.committed(outcomes) }
            reportSlots.signal()
        }
    }

    private func commit(_ batch: [Deposit]) throws(CacheError) -> [Outcome] {
        var files: [Digest: String] = [:]
        var obstructions: [Digest: CacheError] = [:]
        for object in batch.compactMap(\.staged) {
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
        var outcomes: [Outcome] = []
        try index.write { db in
            // Evictions remove files in write transactions, so no file is removed during this one.
            let vanished = try presence.absent(files.keys)
            var rows = try DepositRows(db)
            for deposit in batch {
                let result: Result<Digest?, CacheError>
                if let digest = deposit.staged?.digest, let obstruction = obstructions[digest] {
                    result = .failure(obstruction)
                } else {
                    result = try rows.record(deposit, vanished: vanished)
                }
                outcomes.append(Outcome(context: deposit.context, result: result))
            }
            lock.withLock { deposited.subtract(rows.evicted + obstructions.keys) }
            try trim(adding: rows.addedFailures, db)
        }
        return outcomes
    }

    /// Trims failures. Counts them only the first time and when an upper bound exceeds its limit.
    private func trim(adding added: (rows: Int, bytes: Int), _ db: Database) throws {
        guard added.rows > 0 else { return }
        remembered?.rows += added.rows
        remembered?.bytes += added.bytes
        if let sum = remembered, sum.rows <= FailureTable.rowLimit,
            sum.bytes <= FailureTable.byteLimit
        {
            return
        }
        remembered = try FailureTable.trim(db, to: remembered == nil ? 1 : 0.75)
    }
}
