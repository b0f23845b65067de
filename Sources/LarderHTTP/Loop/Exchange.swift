import Dispatch
import Synchronization

/// A receiver of body bytes. If it returns false, it gets the same bytes again after `resume()`.
package typealias ByteSink = @Sendable (_ bytes: UnsafeRawBufferPointer) throws -> Bool

package final class Exchange: TransferReceiver, @unchecked Sendable {
    // Unchecked because the variables are used only on the loop's queue.

    /// Receives the head. Returns a sink for the body, or nil to refuse the body.
    package typealias HeadHandler =
        @Sendable (ResponseHead, _ resume: @escaping @Sendable () -> Void) throws -> ByteSink?

    private let loop: TransferLoop
    private let maximumBytes: Int64
    private let onHead: HeadHandler
    private var waiter: CheckedContinuation<ResponseHead, any Error>?
    private var id: TransferID?
    private var isCancelled = false
    private var head: ResponseHead?
    private var sink: ByteSink?
    /// The size of the body that the sink received. Valid after the response.
    package private(set) var receivedBytes: Int64 = 0
    private var failure: (any Error)?
    private static let maximumErrorBytes: Int64 = 64 << 10

    /// - Parameter maximumBytes: An additional limit on the body of a successful response.
    package init(on loop: TransferLoop, maximumBytes: Int64 = .max, onHead: @escaping HeadHandler) {
        (self.loop, self.maximumBytes, self.onHead) = (loop, maximumBytes, onHead)
    }

    /// Sends a request. Returns the head after the body has ended or was refused. Throws
    /// `TransferError`, the handlers' errors, or `CancellationError`.
    package func response(to request: TransferRequest) async throws -> ResponseHead {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                loop.perform { [self] in
                    guard !isCancelled else { return waiter.resume(throwing: CancellationError()) }
                    self.waiter = waiter
                    id = loop.start(request, receiver: self)
                }
            }
        } onCancel: {
            loop.perform { [self] in
                isCancelled = true
                if let id { loop.cancel(id) }
            }
        }
    }

    package func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool {
        self.head = head
        do {
            sink = try onHead(head) { [loop] in loop.resume(id) }
        } catch {
            failure = error
        }
        return sink != nil
    }

    package func transfer(
        _ id: TransferID, didReceive bytes: UnsafeRawBufferPointer
    ) -> ReceiveVerdict {
        do {
            let total = receivedBytes + Int64(bytes.count)
            let limit = isError ? Self.maximumErrorBytes : maximumBytes
            guard total <= limit else { throw TransferError.bodyTooLong(limit: limit) }
            guard try sink?(bytes) ?? true else { return .pause }
            receivedBytes = total
            return .proceed
        } catch {
            failure = error
            return .stop
        }
    }

    package func transfer(_ id: TransferID, didEnd result: TransferResult) {
        waiter?.resume(with: Result<ResponseHead, any Error> { try outcome(of: result) })
    }

    private var isError: Bool { head?.isSuccess == false }

    private func outcome(of result: TransferResult) throws -> ResponseHead {
        // The status of an error response is more useful than the failure of its body.
        if !isError, let failure { throw failure }
        if isCancelled { throw CancellationError() }
        if let head, isError || sink == nil { return head }
        _ = try result.get()
        guard let head else {
            throw TransferError(.malformedResponse, "the server sent no response")
        }
        return head
    }
}

package final class CollectedBytes: Sendable {
    private let state = Mutex<[UInt8]>([])

    package init() {}

    package var bytes: [UInt8] { state.withLock { $0 } }

    package func sink() -> ByteSink {
        state.withLock { $0 = [] }
        return { [self] bytes in
            state.withLock { $0.append(contentsOf: bytes) }
            return true
        }
    }
}

/// Runs tasks on the loop's queue, which they must not block.
extension TransferLoop: TaskExecutor {
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        perform { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// Runs `body` as a task, and blocks the thread until the task ends. Every 50 ms, cancels the task
/// if `isCancelled` returns true. Without an executor, the task needs a free thread of the pool.
package func waitForTask<Answer: Sendable>(
    on executor: (any TaskExecutor)? = nil, unless isCancelled: () -> Bool = { false },
    _ body: @escaping @Sendable () async throws -> Answer
) throws -> Answer {
    let outcome = Mutex<Result<Answer, any Error>?>(nil)
    let end = DispatchSemaphore(value: 0)
    let task = Task<Answer, any Error>(executorPreference: executor, operation: body)
    Task<Void, Never>(executorPreference: executor) {
        let result = await task.result
        outcome.withLock { $0 = result }
        end.signal()
    }
    while end.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
        if isCancelled() { task.cancel() }
    }
    guard let result = outcome.withLock({ $0 }) else { preconditionFailure("no result") }
    return try result.get()
}
