import Foundation
import GRDB

/// One writing and up to four reading connections. GRDB's own pool looks for the log by path
/// instead of URI, and writes on each opening.
final class IndexConnections: Sendable {
    private static let readerLimit = 4

    let writer: DatabaseQueue
    private let openReader: (@Sendable () throws -> DatabaseQueue)?
    private let places = DispatchSemaphore(value: IndexConnections.readerLimit)
    private let state = Locked((idle: [DatabaseQueue](), isClosed: false))

    init(writer: DatabaseQueue, openReader: (@Sendable () throws -> DatabaseQueue)? = nil) {
        self.writer = writer
        self.openReader = openReader
    }

    deinit { close() }

    func reading<Value>(_ body: (DatabaseQueue) throws -> Value) throws -> Value {
        guard let openReader else { return try body(writer) }
        places.wait()
        defer { places.signal() }
        let reader = try state.withLock { state in
            guard !state.isClosed else {
                throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "is closed")
            }
            return state.idle.popLast()
        }
        let connection = try reader ?? openReader()
        defer { state.withLock { $0.idle.append(connection) } }
        return try body(connection)
    }

    /// Closes all connections, the writer last, so that it checkpoints the log.
    func close() {
        for _ in 0..<Self.readerLimit { places.wait() }
        defer { for _ in 0..<Self.readerLimit { places.signal() } }
        let readers = state.withLock { state in
            defer { state = ([], true) }
            return state.idle
        }
        for reader in readers { try? reader.close() }
        try? writer.close()
    }
}

extension DatabaseReader {
    func read<Value>(
        unless isCancelled: @escaping @Sendable () -> Bool, _ body: (Database) throws -> Value
    ) throws -> Value {
        if isCancelled() { throw CancellationError() }
        do {
            return try read { db in
                let cancellation = StepLimit.Cancellation(isCancelled: isCancelled)
                return try StepLimit.$cancellation.withValue(cancellation) { try body(db) }
            }
        } catch let error as DatabaseError
            where error.resultCode == .SQLITE_INTERRUPT && isCancelled()
        {
            throw CancellationError()
        }
    }
}

extension Database {
    func complaints(isQuick: Bool, limit: Int) throws -> [String] {
        try self.prepared("PRAGMA \(isQuick ? "quick" : "integrity")_check(\(limit))")
            .rows { $0.text() ?? "" }.filter { $0 != "ok" }
    }
}

extension DatabaseError {
    static func corruption(_ message: String, sql: String? = nil) -> DatabaseError {
        DatabaseError(resultCode: .SQLITE_CORRUPT, message: message, sql: sql)
    }
}
