import Dispatch
import Synchronization

/// Receives the bytes of a body. After it returns false, the same bytes are delivered again once
/// its `resume` function is called.
package typealias ByteSink = @Sendable (_ bytes: UnsafeRawBufferPointer) throws -> Bool

/// One request and its response, for a task or a thread that waits for it.
package final class Exchange: TransferReceiver {
    /// Returns the sink of a response's body, or nil if the body is not wanted.
    package typealias HeadHandler =
        @Sendable (
            _ head: ResponseHead, _ resume: @escaping @Sendable () -> Void
        ) throws -> ByteSink?

    private let loop: TransferLoop
    private let maximumBytes: Int64
    private let onHead: HeadHandler
    private let state = Mutex(State())

    private struct State {
        var onEnd: (@Sendable (Result<ResponseHead, any Error>) -> Void)?
        var outcome: Result<ResponseHead, any Error>?
        var id: TransferID?
        var isCancelled = false
        var head: ResponseHead?
        var sink: ByteSink?
        var taken: Int64 = 0
        var failure: (any Error)?
    }

    /// - Parameter maximumBytes: The limit of a successful body. The request limits all bodies.
    package init(on loop: TransferLoop, maximumBytes: Int64 = .max, onHead: @escaping HeadHandler) {
        self.loop = loop
        self.maximumBytes = maximumBytes
        self.onHead = onHead
    }

    /// Also set if the body failed.
    package var head: ResponseHead? { state.withLock { $0.head } }
    var id: TransferID? { state.withLock { $0.id } }

    /// Returns the response's head once its body has ended or was refused. Throws `TransferError`,
    /// an error of the head handler or the sink, or `CancellationError`.
    package func response(to request: TransferRequest) async throws -> ResponseHead {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                begin(request) { waiter.resume(with: $0) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Does the same, and blocks the thread. Calls `isCancelled` every 50 ms.
    package func waitForResponse(
        to request: TransferRequest, unless isCancelled: () -> Bool
    ) throws -> ResponseHead {
        let end = DispatchSemaphore(value: 0)
        begin(request) { _ in end.signal() }
        while end.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
            if isCancelled() { cancel() }
        }
        guard let outcome = state.withLock({ $0.outcome }) else { throw CancellationError() }
        return try outcome.get()
    }

    private func begin(
        _ request: TransferRequest,
        onEnd: @escaping @Sendable (Result<ResponseHead, any Error>) -> Void
    ) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.onEnd = onEnd }
            return state.isCancelled
        }
        if isCancelled { return onEnd(.failure(CancellationError())) }
        let id = loop.start(request, receiver: self)
        let isLate = state.withLock { state in
            state.id = id
            return state.isCancelled
        }
        if isLate { loop.cancel(id) }
    }

    private func cancel() {
        let id = state.withLock { state in
            state.isCancelled = true
            return state.id
        }
        if let id { loop.cancel(id) }
    }

    // Called on the loop's queue.

    package func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool {
        do {
            let sink = try onHead(head) { [loop] in loop.resume(id) }
            state.withLock { ($0.head, $0.sink) = (head, sink) }
            return sink != nil
        } catch {
            state.withLock { ($0.head, $0.failure) = (head, error) }
            return false
        }
    }

    package func transfer(
        _ id: TransferID, didReceive bytes: UnsafeRawBufferPointer
    ) -> ReceiveVerdict {
        let (sink, taken, head) = state.withLock { ($0.sink, $0.taken, $0.head) }
        do {
            let total = taken + Int64(bytes.count)
            guard total <= maximumBytes || head?.isSuccess == false else {
                throw TransferError.bodyTooLong(limit: maximumBytes)
            }
            guard try sink?(bytes) ?? true else { return .pause }
            state.withLock { $0.taken = total }
            return .proceed
        } catch {
            state.withLock { $0.failure = error }
            return .stop
        }
    }

    package func transfer(_ id: TransferID, didEnd result: Result<TransferMetrics, TransferError>) {
        let onEnd = state.withLock { state in
            state.outcome = Self.outcome(of: state, result)
            defer { (state.onEnd, state.sink) = (nil, nil) }
            return state.outcome.flatMap { outcome in state.onEnd.map { ($0, outcome) } }
        }
        if let (onEnd, outcome) = onEnd { onEnd(outcome) }
    }

    private static func outcome(
        of state: State, _ result: Result<TransferMetrics, TransferError>
    ) -> Result<ResponseHead, any Error> {
        if let failure = state.failure { return .failure(failure) }
        if state.isCancelled { return .failure(CancellationError()) }
        switch (result, state.head) {
        case (_, let head?) where state.sink == nil, (.success, let head?): return .success(head)
        case (.success, nil):
            return .failure(TransferError(code: .malformedResponse, message: "no answer came"))
        case (.failure(let error), _): return .failure(error)
        }
    }
}

/// Bytes that are received piece by piece, on any thread.
package final class CollectedBytes: Sendable {
    private struct Overflow: Error {}

    private let limit: Int
    private let state = Mutex<[UInt8]>([])

    /// - Parameter limit: After this many bytes, the sink keeps the first ones and throws.
    package init(limit: Int = .max) { self.limit = limit }

    package var bytes: [UInt8] { state.withLock { $0 } }

    /// Discards the bytes, and returns a sink for new ones.
    package func sink() -> ByteSink {
        state.withLock { $0 = [] }
        return { [self] bytes in
            try state.withLock { collected in
                collected.append(contentsOf: bytes.prefix(limit - collected.count))
                if collected.count >= limit { throw Overflow() }
            }
            return true
        }
    }
}
