import GRDB

extension DatabaseReader {
    /// Reads with statements that may take long, and ends them soon after `isCancelled` returns
    /// true. Other connections are not affected.
    ///
    /// - Parameter isCancelled: Called often, on the calling thread.
    /// - Throws: `CancellationError` then; else what `body` throws.
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
