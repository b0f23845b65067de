import Foundation
import GRDB

extension DatabaseReader {
    /// Reads with statements that may take long, and breaks them off soon after `isCancelled` says so.
    ///
    /// - Throws: `CancellationError` then; else what `body` throws.
    func read<Value>(
        unless isCancelled: @escaping @Sendable () -> Bool, _ body: (Database) throws -> Value
    ) throws -> Value {
        let queue = DispatchQueue(label: "larder.cancellation")
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { [self] in if isCancelled() { interrupt() } }
        timer.schedule(deadline: .now() + 0.1, repeating: 0.1)
        timer.resume()
        defer {
            timer.cancel()
            // The statements that follow are not to be broken off.
            queue.sync {}
        }
        if isCancelled() { throw CancellationError() }
        do {
            return try read(body)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
            throw CancellationError()
        }
    }
}
