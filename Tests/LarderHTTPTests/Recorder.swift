import Dispatch
import LarderHTTP
import Synchronization
import Testing

/// A receiver that records the events of a transfer and replies as configured.
final class Recorder: TransferReceiver {
    typealias Verdict = @Sendable (_ bytesSoFar: Int, _ pieces: Int) -> ReceiveVerdict

    private struct State {
        var heads: [ResponseHead] = []
        var body: [UInt8] = []
        var pieces = 0
        var ends: [Result<TransferMetrics, TransferError>] = []
        var milestones: Set<Milestone> = []
        var waiters: [Int: (milestone: Milestone, continuation: CheckedContinuation<Bool, Never>)] =
            [:]
        var lastWaiter = 0
    }

    enum Milestone { case head, bytes, end }

    private let state = Mutex(State())
    private let wantsBody: @Sendable (ResponseHead) -> Bool
    private let verdict: Verdict
    private let atEnd: @Sendable () -> Void

    init(
        wantsBody: @escaping @Sendable (ResponseHead) -> Bool = { _ in true },
        verdict: @escaping Verdict = { _, _ in .proceed },
        atEnd: @escaping @Sendable () -> Void = {}
    ) {
        self.wantsBody = wantsBody
        self.verdict = verdict
        self.atEnd = atEnd
    }

    // MARK: Receiving

    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool {
        state.withLock { $0.heads.append(head) }
        reach(.head)
        return wantsBody(head)
    }

    func transfer(_ id: TransferID, didReceive bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        let (soFar, pieces) = state.withLock { state in
            state.pieces += 1
            return (state.body.count, state.pieces)
        }
        let verdict = verdict(soFar, pieces)
        if verdict == .proceed { state.withLock { $0.body.append(contentsOf: bytes) } }
        reach(.bytes)
        return verdict
    }

    func transfer(_ id: TransferID, didEnd result: Result<TransferMetrics, TransferError>) {
        state.withLock { $0.ends.append(result) }
        atEnd()
        reach(.end)
    }

    private func reach(_ milestone: Milestone) {
        let met = state.withLock { state in
            state.milestones.insert(milestone)
            let met = state.waiters.filter { $0.value.milestone == milestone }
            for number in met.keys { state.waiters[number] = nil }
            return met
        }
        for waiter in met.values { waiter.continuation.resume(returning: true) }
    }

    // MARK: Results

    /// Waits for a milestone. Records an issue after a minute.
    func reached(_ milestone: Milestone) async {
        let isReached = await withCheckedContinuation { continuation in
            let waiter: Int? = state.withLock { state in
                guard !state.milestones.contains(milestone) else { return nil }
                state.lastWaiter += 1
                state.waiters[state.lastWaiter] = (milestone, continuation)
                return state.lastWaiter
            }
            guard let waiter else { return continuation.resume(returning: true) }
            DispatchQueue.global().asyncAfter(deadline: .now() + 60) { [weak self] in
                let late = self?.state.withLock { $0.waiters.removeValue(forKey: waiter) }
                late?.continuation.resume(returning: false)
            }
        }
        if !isReached { Issue.record("the transfer's \(milestone) did not come") }
    }

    /// Waits for the end. Returns the metrics of the transfer, or throws its error.
    func metrics() async throws -> TransferMetrics {
        await reached(.end)
        return try #require(ends.first).get()
    }

    /// Waits for the end. Returns the error of the transfer, or nil if it succeeded.
    func error() async -> TransferError? {
        await reached(.end)
        if case .failure(let error) = ends.first { return error }
        return nil
    }

    var heads: [ResponseHead] { state.withLock { $0.heads } }
    var body: [UInt8] { state.withLock { $0.body } }
    var text: String { String(decoding: body, as: UTF8.self) }
    var pieces: Int { state.withLock { $0.pieces } }
    var ends: [Result<TransferMetrics, TransferError>] { state.withLock { $0.ends } }
}
