import Foundation
import LarderCache
import LarderTransfer
import Synchronization

/// One request: from its place in the queue to a body that is checked and staged.
///
/// Asynchronous: ``start()`` hands over to the transfer loop and returns. The operation is finished
/// when its bytes are staged, which frees its place in the queue.
final class FetchOperation: Operation, @unchecked Sendable {
    // Unchecked because `Operation` restates it so; every stored property is `let`, and what
    // changes is in `state`.

    /// What one request led to.
    enum Outcome: Sendable {
        /// Staged, and handed to the store.
        case deposited
        /// Another request is to be made.
        case redirect(String)
        case failed(FetchFailure)
        /// The cache itself failed: the run cannot go on.
        case broken(CacheError)

        /// Whether the origin did not answer at all.
        var isSilence: Bool {
            if case .failed(let failure) = self { failure.isSilence } else { false }
        }
    }

    let fetch: Fetch
    /// The place of its origin's cursor in the queue.
    let cursor: Int
    private let stage: FetchStage
    private let onTransferEnd: @Sendable (FetchOperation) -> Void
    private let onEnd: @Sendable (FetchOperation, Outcome) -> Void
    private let state = Mutex(State())

    private struct State {
        var phase = Phase.waiting
        var transfer: TransferID?
        var head: ResponseHead?
        var body: StagedBody?
        /// Why the response was stopped on our side.
        var verdict: Outcome?
    }

    private enum Phase { case waiting, executing, finished }

    /// - Parameters:
    ///   - onTransferEnd: called when the connection is free again, before the bytes are checked.
    ///   - onEnd: called once, before the operation finishes.
    init(
        _ fetch: Fetch, cursor: Int, stage: FetchStage,
        onTransferEnd: @escaping @Sendable (FetchOperation) -> Void,
        onEnd: @escaping @Sendable (FetchOperation, Outcome) -> Void
    ) {
        self.fetch = fetch
        self.cursor = cursor
        self.stage = stage
        self.onTransferEnd = onTransferEnd
        self.onEnd = onEnd
        super.init()
        queuePriority = Self.queuePriority(fetch.planned.priority)
    }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { state.withLock { $0.phase == .executing } }
    override var isFinished: Bool { state.withLock { $0.phase == .finished } }

    override func start() {
        move(to: .executing)
        guard !isCancelled else { return end(.failed(Self.cancellation)) }
        let id = stage.loop.start(stage.request(for: fetch), receiver: self)
        state.withLock { $0.transfer = id }
        // A cancellation between the two lines above saw no transfer to cancel.
        if isCancelled { stage.loop.cancel(id) }
    }

    override func cancel() {
        super.cancel()
        if let transfer = state.withLock({ $0.transfer }) { stage.loop.cancel(transfer) }
    }

    private static let cancellation = FetchFailure(.cancelled, "interrupted")

    private func end(_ outcome: Outcome) {
        onEnd(self, outcome)
        move(to: .finished)
    }

    /// Changes the phase. The queue reads it back inside `didChangeValue`: no lock is held there.
    private func move(to phase: Phase) {
        let key = phase == .executing ? "isExecuting" : "isFinished"
        if phase == .finished { willChangeValue(forKey: "isExecuting") }
        willChangeValue(forKey: key)
        state.withLock { $0.phase = phase }
        didChangeValue(forKey: key)
        if phase == .finished { didChangeValue(forKey: "isExecuting") }
    }

    private static func queuePriority(_ priority: Int) -> QueuePriority {
        switch priority {
        case ...(-8): .veryLow
        case ..<0: .low
        case 0: .normal
        case ..<8: .high
        default: .veryHigh
        }
    }
}

extension FetchOperation: TransferReceiver {
    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool {
        let verdict = stage.verdict(on: head, for: fetch)
        let body = verdict == nil && head.status != 304 ? stage.newBody(for: id) : nil
        state.withLock { state in
            state.head = head
            state.body = body
            state.verdict = verdict
        }
        return verdict == nil
    }

    func transfer(
        _ id: TransferID, didReceive bytes: UnsafeRawBufferPointer
    ) -> ReceiveVerdict {
        guard let body = state.withLock({ $0.body }) else { return .proceed }
        do throws(CacheError) {
            guard try body.append(bytes) == .taken else { return .pause }
            stage.count(received: bytes.count)
            return .proceed
        } catch {
            state.withLock { $0.verdict = .broken(error) }
            return .stop
        }
    }

    func transfer(_ id: TransferID, didEnd result: Result<TransferMetrics, TransferError>) {
        onTransferEnd(self)
        let (verdict, head, body) = state.withLock { state in
            defer { state.body = nil }
            return (state.verdict, state.head, state.body)
        }
        // Off the loop thread: what follows checks bytes and writes files.
        stage.work.async { [self] in
            if let verdict { return end(verdict) }
            switch result {
            case .failure(let error):
                end(.failed(FetchFailure(error)))
            case .success(let metrics):
                guard let head else { return end(.failed(Self.cancellation)) }
                stage.deposit(fetch, head: head, body: body, metrics: metrics) { outcome in
                    self.end(outcome)
                }
            }
        }
    }
}
