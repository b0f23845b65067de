import Foundation
import GRDBSQLite

/// A limit on a statement's steps, because the pages of an untrusted index can form a loop. An
/// intact index of the same size needs only a fraction of it.
final class StepLimit {
    private static let interval: CInt = 10_000
    private static let least = 4_000_000
    private static let stepsPerByte = 16
    @TaskLocal static var cancellation: Cancellation?

    /// A structure, because a task-local closure crashes in release builds with Swift 6.3.
    struct Cancellation: Sendable { let isCancelled: @Sendable () -> Bool }

    private let connection: OpaquePointer
    private let indexBytes: @Sendable () -> Int64
    private var steps = 0
    private var limit = StepLimit.least

    private init(_ connection: OpaquePointer, _ indexBytes: @escaping @Sendable () -> Int64) {
        (self.connection, self.indexBytes) = (connection, indexBytes)
    }

    static func install(on connection: OpaquePointer, indexBytes: @escaping @Sendable () -> Int64) {
        // Unmanaged because SQLite keeps a pointer. The SQL function exists only for its
        // destructor, which releases the object with the connection.
        let limit = Unmanaged.passRetained(StepLimit(connection, indexBytes)).toOpaque()
        sqlite3_create_function_v2(
            connection, "larder_step_limit", 0, SQLITE_UTF8, limit, { _, _, _ in }, nil, nil,
            // Unmanaged because C passes a pointer.
            { Unmanaged<StepLimit>.fromOpaque($0!).release() })
        // Unretained because the calling connection keeps the object.
        sqlite3_progress_handler(
            connection, interval,
            { Unmanaged<StepLimit>.fromOpaque($0!).takeUnretainedValue().count() ? 0 : 1 }, limit)
        sqlite3_trace_v2(
            connection, UInt32(SQLITE_TRACE_STMT),
            { _, limit, _, text in
                // SQLite reports effects such as cascading deletions as SQL comments.
                if text?.assumingMemoryBound(to: UInt8.self).pointee != UInt8(ascii: "-") {
                    // Unretained because the calling connection keeps the object.
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
