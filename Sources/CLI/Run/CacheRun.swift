import ArgumentParser
import Foundation
import LarderCache
import LarderKit
import Synchronization

/// One run of a command that other processes have to do with: it waits for its locks, can be
/// interrupted, and leaves a record.
final class CacheRun: Sendable {
    let interrupts: Interrupts
    /// How far it is, for whoever looks.
    let line: ProgressLine
    /// How long it waits for locks.
    let wait: LockWait
    private let started = Date()
    private let start = ContinuousClock.now
    private let counts = Mutex<[RunRecord.Count: Int64]>([:])

    private init(wait: LockWait, isQuiet: Bool) {
        let interrupts = Interrupts(isQuiet: isQuiet)
        var wait = wait
        wait.isCancelled = { interrupts.signal != nil }
        self.interrupts = interrupts
        line = ProgressLine(isQuiet: isQuiet)
        self.wait = wait
    }

    /// Runs a command's body, as ``ExitStatus/of(_:)`` does, once it has the lock that it was told
    /// to take.
    ///
    /// - Parameters:
    ///   - hasOneCache: whether the command has to do with no other.
    ///   - makesCache: whether the command makes a cache if there is none.
    ///   - record: the name under which its record is left; nil leaves none.
    static func of<Command: ParsableCommand>(
        _ command: Command, on cache: CacheOptions, _ locks: LockOptions,
        isQuiet: Bool = false, hasOneCache: Bool = true, makesCache: Bool = false,
        recordedAs record: RunRecord.Command? = nil,
        _ body: (CacheRun) async throws -> Void
    ) async throws {
        let run = CacheRun(wait: locks.wait(isQuiet: isQuiet), isQuiet: isQuiet)
        var lock: NamedLock?
        defer { withExtendedLifetime(lock) {} }
        do {
            // Names in errors are relative to a cache: with two, nobody could tell which.
            try await ExitStatus.of(hasOneCache ? cache : nil) {
                lock = try locks.take(
                    on: cache, create: makesCache, for: "larder \(Command._commandName)",
                    wait: run.wait)
                try await body(run)
            }
            run.record(as: record, in: cache, status: ExitStatus.done.rawValue)
        } catch let exit as ExitCode {
            run.record(as: record, in: cache, status: exit.rawValue)
            throw exit
        }
    }

    /// Keeps what the report counts, for the record.
    func note(_ counts: [RunRecord.Count: Int64]) { self.counts.withLock { $0 = counts } }

    private func record(as command: RunRecord.Command?, in cache: CacheOptions, status: Int32) {
        // Who was refused did not run.
        guard let command, status != ExitStatus.locked.rawValue else { return }
        RunRecord(
            command, started: started, ended: Date(),
            seconds: (ContinuousClock.now - start) / .seconds(1), exitStatus: status,
            counts: counts.withLock { $0 }, version: LarderVersion.current
        ).save(inCacheAt: cache.path)
    }
}
