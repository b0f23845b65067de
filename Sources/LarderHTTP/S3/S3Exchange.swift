import Synchronization

/// One request and its answer, for the task that waits for it: a good answer's bytes go to a sink,
/// another's are kept as far as they say why.
final class S3Exchange: TransferReceiver {
    /// What came.
    struct Answer: Sendable {
        let head: ResponseHead
        /// Of an answer that is an error.
        let error: [UInt8]
    }

    typealias Waiter = CheckedContinuation<Answer, any Error>

    /// The maximum number of bytes of an error that are read. A longer one ends the transfer.
    private static let longestError = 64 << 10

    private let loop: TransferLoop
    private let maximumBytes: Int64
    private let makeSink: SinkMaker
    private let state = Mutex(State())

    private struct State {
        var waiter: Waiter?
        var transfer: TransferID?
        var isCancelled = false
        var head: ResponseHead?
        var sink: ByteSink?
        /// How many bytes the sink took.
        var taken: Int64 = 0
        var error: [UInt8] = []
        /// Why the answer was not taken.
        var failure: (any Error)?
    }

    /// - Parameter maximumBytes: the longest good answer that is taken; errors have a limit of
    ///   their own.
    init(on loop: TransferLoop, maximumBytes: Int64, into makeSink: @escaping SinkMaker) {
        self.loop = loop
        self.maximumBytes = maximumBytes
        self.makeSink = makeSink
    }

    /// - Throws: `TransferError`, what the sink throws, `CancellationError`.
    func answer(to request: TransferRequest) async throws -> Answer {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let isCancelled = state.withLock { state in
                    if !state.isCancelled { state.waiter = waiter }
                    return state.isCancelled
                }
                if isCancelled { return waiter.resume(throwing: CancellationError()) }
                let id = loop.start(request, receiver: self)
                let isLate = state.withLock { state in
                    state.transfer = id
                    return state.isCancelled
                }
                if isLate { loop.cancel(id) }
            }
        } onCancel: {
            let transfer = state.withLock { state in
                state.isCancelled = true
                return state.transfer
            }
            if let transfer { loop.cancel(transfer) }
        }
    }

    // MARK: - On the loop's thread

    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool {
        do {
            let sink =
                (200..<300).contains(head.status)
                ? try makeSink { [loop] in loop.resume(id) } : nil
            state.withLock { ($0.head, $0.sink) = (head, sink) }
            return true
        } catch {
            state.withLock { $0.failure = error }
            return false
        }
    }

    func transfer(_ id: TransferID, didReceive bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        let (sink, taken) = state.withLock { ($0.sink, $0.taken) }
        guard let sink else {
            return state.withLock { state in
                state.error.append(
                    contentsOf: bytes.prefix(Self.longestError - state.error.count))
                return state.error.count < Self.longestError ? .proceed : .stop
            }
        }
        do {
            let total = taken + Int64(bytes.count)
            guard total <= maximumBytes else {
                throw TransferError(
                    code: .tooLarge, message: "longer than the \(maximumBytes) bytes allowed")
            }
            guard try sink(bytes) else { return .pause }
            state.withLock { $0.taken = total }
            return .proceed
        } catch {
            state.withLock { $0.failure = error }
            return .stop
        }
    }

    func transfer(_ id: TransferID, didEnd result: Result<TransferMetrics, TransferError>) {
        let state = state.withLock { state in
            defer { (state.waiter, state.sink) = (nil, nil) }
            return state
        }
        guard let waiter = state.waiter else { return }
        if let failure = state.failure { return waiter.resume(throwing: failure) }
        if state.isCancelled { return waiter.resume(throwing: CancellationError()) }
        switch (result, state.head) {
        case (.success, let head?):
            waiter.resume(returning: Answer(head: head, error: state.error))
        // An error's status says more than how its body ended.
        case (.failure, let head?) where head.status >= 300:
            waiter.resume(returning: Answer(head: head, error: state.error))
        case (.success, nil):
            waiter.resume(
                throwing: TransferError(code: .malformedResponse, message: "no answer came"))
        case (.failure(let error), _): waiter.resume(throwing: error)
        }
    }
}
