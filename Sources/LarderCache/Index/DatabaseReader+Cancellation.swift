import Foundation
import GRDB
import GRDBSQLite

extension DatabaseReader {
    /// Reads with statements that may take long, and breaks them off soon after `isCancelled` says
    /// so. What other threads read meanwhile goes on.
    ///
    /// - Throws: `CancellationError` then; else what `body` throws.
    func read<Value>(
        unless isCancelled: @escaping @Sendable () -> Bool, _ body: (Database) throws -> Value
    ) throws -> Value {
        if isCancelled() { throw CancellationError() }
        do {
            return try read { db in
                // Not the reader's `interrupt()`, which breaks off every connection of a pool: what
                // reads rows beside this one would fail. Unsafe because a pointer, but SQLite takes
                // an interrupt from any thread while the connection is open, which it is until the
                // queue below is empty.
                nonisolated(unsafe) let connection = db.sqliteConnection
                let queue = DispatchQueue(label: "larder.cancellation")
                let timer = DispatchSource.makeTimerSource(queue: queue)
                timer.setEventHandler { if isCancelled() { sqlite3_interrupt(connection) } }
                timer.schedule(deadline: .now() + 0.1, repeating: 0.1)
                timer.resume()
                defer {
                    timer.cancel()
                    // The statements that follow are not to be broken off.
                    queue.sync {}
                }
                return try body(db)
            }
        } catch let error as DatabaseError
            where error.resultCode == .SQLITE_INTERRUPT && isCancelled()
        {
            throw CancellationError()
        }
    }
}
