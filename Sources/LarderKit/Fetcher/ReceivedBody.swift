import Foundation
import LarderTransfer
import Synchronization

/// One response on its way into memory, for the task that waits for it.
final class ReceivedBody: TransferReceiver {
    enum Answer: Sendable {
        case body(ResponseHead, [UInt8])
        case redirect(String, freshUntil: Date)
    }

    typealias Waiter = CheckedContinuation<Answer, any Error>

    /// Where the request goes.
    let target: RequestTarget
    private let policy: FetchPolicy
    private let state = Mutex(State())

    private struct State {
        var waiter: Waiter?
        var transfer: (id: TransferID, loop: TransferLoop)?
        var isCancelled = false
        /// Another priority than it began with.
        var priority: Int?
        var head: ResponseHead?
        var bytes: [UInt8] = []
        var received = 0
        /// Why the response was stopped on our side.
        var verdict: Result<Answer, FetchFailure>?
    }

    init(_ target: RequestTarget, _ policy: FetchPolicy) {
        self.target = target
        self.policy = policy
    }

    /// How many bytes have come.
    var receivedBytes: Int { state.withLock { $0.received } }

    /// - Returns: false if it is cancelled already: then `waiter` has heard of that.
    func wait(_ waiter: Waiter) -> Bool {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.waiter = waiter }
            return state.isCancelled
        }
        if isCancelled { waiter.resume(throwing: CancellationError()) }
        return !isCancelled
    }

    func began(_ id: TransferID, on loop: TransferLoop) {
        let (isCancelled, priority) = state.withLock { state in
            // Not if it has ended within `start`.
            if state.waiter != nil { state.transfer = (id, loop) }
            return (state.isCancelled, state.priority)
        }
        if let priority { loop.setPriority(priority, of: id) }
        if isCancelled { loop.cancel(id) }
    }

    /// Gives it another priority while it waits for its turn.
    func change(to priority: Int) {
        let transfer = state.withLock { state in
            state.priority = priority
            return state.transfer
        }
        if let (id, loop) = transfer { loop.setPriority(priority, of: id) }
    }

    func cancel() {
        let transfer = state.withLock { state in
            state.isCancelled = true
            return state.transfer
        }
        if let (id, loop) = transfer { loop.cancel(id) }
    }

    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool {
        let verdict: Result<Answer, FetchFailure>? =
            switch policy.verdict(on: head, to: target, about: nil) {
            case .body: nil
            case .notModified: .failure(FetchFailure(status: head.status))
            case .redirect(let location, let freshUntil):
                .success(.redirect(location, freshUntil: freshUntil))
            case .failed(let failure): .failure(failure)
            }
        state.withLock { ($0.head, $0.verdict) = (head, verdict) }
        return verdict == nil
    }

    func transfer(_ id: TransferID, didReceive bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        // The loop keeps to the limit.
        state.withLock { state in
            state.bytes.append(contentsOf: bytes)
            state.received += bytes.count
        }
        return .proceed
    }

    func transfer(_ id: TransferID, didEnd result: Result<TransferMetrics, TransferError>) {
        let state = state.withLock { state in
            defer { (state.waiter, state.transfer, state.bytes) = (nil, nil, []) }
            return state
        }
        guard let waiter = state.waiter else { return }
        if state.isCancelled { return waiter.resume(throwing: CancellationError()) }
        if let verdict = state.verdict { return waiter.resume(with: verdict.mapError { $0 }) }
        switch (result, state.head) {
        case (.success, let head?): waiter.resume(returning: .body(head, state.bytes))
        case (.success, nil):
            waiter.resume(throwing: FetchFailure(.cancelled, "the transfer was given up"))
        case (.failure(let error), _): waiter.resume(throwing: FetchFailure(error))
        }
    }
}
