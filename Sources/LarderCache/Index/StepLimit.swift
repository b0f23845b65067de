import Foundation
import GRDB
import GRDBSQLite

/// A limit on the steps of a statement, because pages of a foreign index may form a loop: several
/// times what larder's statements take for the files' size. SQLite reports it as an interrupt.
final class StepLimit {
    private static let interval: CInt = 10_000
    private static let least = 4_000_000
    private static let stepsPerByte = 16
    /// Whether to end the statements that this thread runs. SQLite asks between steps.
    @TaskLocal static var cancellation: Cancellation?

    /// A type, because a task-local function crashes in release builds (Swift 6.3: no metadata).
    struct Cancellation: Sendable {
        let isCancelled: @Sendable () -> Bool
    }

    private let connection: OpaquePointer
    private let indexBytes: @Sendable () -> Int64
    private var steps = 0
    private var limit = StepLimit.least

    private init(_ connection: OpaquePointer, _ indexBytes: @escaping @Sendable () -> Int64) {
        self.connection = connection
        self.indexBytes = indexBytes
    }

    static func install(on db: Database, indexBytes: @escaping @Sendable () -> Int64) {
        guard let connection = db.sqliteConnection else { return }
        // Unmanaged because SQLite keeps a pointer. Released once, because a connection that is
        // closed calls the destructor of each of its functions: this one is there for that.
        let limit = Unmanaged.passRetained(StepLimit(connection, indexBytes)).toOpaque()
        sqlite3_create_function_v2(
            connection, "larder_step_limit", 0, SQLITE_UTF8, limit, { _, _, _ in }, nil, nil,
            // Released here, because nothing else does.
            { Unmanaged<StepLimit>.fromOpaque($0!).release() })
        // Unretained, because the connection, which calls it, keeps it.
        sqlite3_progress_handler(
            connection, interval,
            { Unmanaged<StepLimit>.fromOpaque($0!).takeUnretainedValue().count() ? 0 : 1 }, limit)
        sqlite3_trace_v2(
            connection, UInt32(SQLITE_TRACE_STMT),
            { _, limit, _, text in
                // What a statement causes, such as cascading deletions, comes as a comment.
                if text?.assumingMemoryBound(to: UInt8.self).pointee != UInt8(ascii: "-") {
                    // Unretained, because the connection, which calls this, keeps it.
                    Unmanaged<StepLimit>.fromOpaque(limit!).takeUnretainedValue().steps = 0
                }
                return 0
            }, limit)
    }

    private func count() -> Bool {
        if Self.cancellation?.isCancelled() == true { return false }
        steps += Int(Self.interval)
        if steps > limit {
            let bytes = min(indexBytes(), Int64.max >> 16) + ownBytes
            limit = Self.least + Self.stepsPerByte * Int(bytes)
        }
        return steps <= limit
    }

    private var ownBytes: Int64 {
        func value(_ status: CInt) -> Int64 {
            var (current, highest): (CInt, CInt) = (0, 0)
            sqlite3_db_status(connection, status, &current, &highest, 0)
            return Int64(current)
        }
        return value(SQLITE_DBSTATUS_CACHE_USED) + value(SQLITE_DBSTATUS_CACHE_WRITE) * 4_096
    }
}

/// Leaves SQLite's write lock free after each step of long work while others commit, and else every
/// ``patience``: waiting processes poll every millisecond, and cannot be seen.
final class StepPause: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`. (`Mutex` needs iOS 18.)

    /// How long the lock is left free.
    private static let microseconds: UInt32 = 3_000
    /// How long the lock is kept at most if nobody has committed of late; a step more than that.
    private static let patience = Duration.milliseconds(40)
    /// How long whoever has committed is expected to commit again.
    private static let company = Duration.seconds(1)

    private let lock = NSLock()
    private var version: Int?
    private var lastCommit: ContinuousClock.Instant?
    private var lastPause = ContinuousClock.now

    /// Called after each step, with `PRAGMA data_version`, which changes if others have committed.
    func stepEnded(_ version: Int?) {
        let isDue = lock.withLock {
            if self.version != nil, version != self.version { lastCommit = .now }
            self.version = version
            let isAlone = lastCommit.map { ContinuousClock.now - $0 >= Self.company } ?? true
            return !isAlone || ContinuousClock.now - lastPause >= Self.patience
        }
        guard isDue else { return }
        usleep(Self.microseconds)
        lock.withLock { lastPause = .now }
    }
}
