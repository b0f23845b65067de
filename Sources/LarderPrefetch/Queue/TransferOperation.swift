import Foundation
import LarderCache
import LarderHTTP
import Synchronization

/// One request, from its slot in the queue to a checked and staged body. ``start()`` hands over to
/// the transfer loop and returns. The operation finishes when its bytes are staged.
final class TransferOperation: Operation, @unchecked Sendable {
    // Unchecked because `Operation` restates it so; every stored property is `let`, and what
    // changes is in `state`.

    enum Outcome: Sendable {
        case deposited
        case redirect(String, freshUntil: Date)
        case failed(ResourceFailure)
        /// No request was made: the origin asked to wait, or the run ends.
        case held
        /// The cache failed, and the run cannot continue.
        case broken(CacheError)
    }

    private let fetch: Attempt
    private let cursor: Int
    private let isLastOfHost: Bool
    private let stage: OperationContext
    private let depositor: any Depositor
    private let holds: HostHolds
    private let onTransferEnd: @Sendable (HostSign) -> Void
    private let onEnd: @Sendable (Outcome) -> Void
    private let state = Mutex(State())

    private struct State {
        var phase = Phase.waiting
        var transfer: TransferID?
        /// Whether a request or a connection was begun.
        var hasBegun = false
        /// The partial body of an interrupted transfer, until a response decides about it.
        var partial: PartialBody?
        /// The header fields of the partial body's response, while the rest arrives.
        var resumed: Validators?
        var head: ResponseHead?
        var body: StagedBody?
        /// Why the response was stopped on our side.
        var verdict: Outcome?
    }

    private enum Phase { case waiting, executing, finished }

    /// - Parameters:
    ///   - onTransferEnd: Called once, when the connection is free, before the bytes are checked.
    ///   - onEnd: Called once, before the operation finishes.
    init(
        _ fetch: Attempt, cursor: Int, isLastOfHost: Bool, stage: OperationContext,
        depositor: any Depositor, holds: HostHolds,
        onTransferEnd: @escaping @Sendable (HostSign) -> Void,
        onEnd: @escaping @Sendable (Outcome) -> Void
    ) {
        self.fetch = fetch
        self.cursor = cursor
        self.isLastOfHost = isLastOfHost
        self.stage = stage
        self.depositor = depositor
        self.holds = holds
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
        if isCancelled {
            onTransferEnd(.none)
            return end(.held)
        }
        let partial = stage.store.partials.take(fetch.target.url.string)
        state.withLock { $0.partial = partial }
        if let partial {
            stage.logger?.info(
                "resuming a body",
                metadata: ["url": fetch.target.url.logged, "offset": "\(partial.count)"])
        }
        var request = stage.policy.request(
            to: fetch.target, about: fetch.askedAbout, continuing: partial)
        request.isLastOfHost = isLastOfHost
        request.priority = fetch.planned.priority
        let id = stage.loop.start(request, receiver: self)
        state.withLock { $0.transfer = id }
        // A cancellation between the two statements above found no transfer to cancel.
        if isCancelled { stage.loop.cancel(id) }
    }

    override func cancel() {
        super.cancel()
        if let transfer = state.withLock({ $0.transfer }) { stage.loop.cancel(transfer) }
    }

    private static let cancellation = ResourceFailure(.cancelled, "interrupted")

    private func end(_ outcome: Outcome) {
        onEnd(outcome)
        move(to: .finished)
    }

    /// Changes the phase. No lock may be held: the queue reads the phase inside `didChangeValue`.
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

extension TransferOperation: TransferReceiver {
    func transferMayBegin(_ id: TransferID) -> Bool {
        let mayBegin = holds.allows(cursor)
        state.withLock { state in
            if mayBegin, !state.hasBegun { stage.countRequest(1) }
            if mayBegin { state.hasBegun = true } else { state.verdict = .held }
        }
        return mayBegin
    }

    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool {
        let partial = state.withLock { $0.partial }
        var outcome: Outcome?
        var body: StagedBody?
        let verdict = stage.policy.verdict(
            on: head, to: fetch.target, about: fetch.askedAbout, continuing: partial)
        switch verdict {
        case .body:
            do throws(CacheError) {
                body = try stage.newBody(
                    for: id, head: head, continuing: head.status == 206 ? partial : nil)
            } catch {
                outcome = .broken(error)
            }
        case .notModified: break
        case .redirect(let location, let freshUntil):
            outcome = .redirect(location, freshUntil: freshUntil)
        case .failed(let failure): outcome = .failed(failure)
        }
        state.withLock { state in
            // A partial body of another version is useless. Other statuses say nothing about it.
            if [200, 203, 206, 404, 410, 416].contains(head.status) { state.partial = nil }
            if body != nil, head.status == 206 { state.resumed = partial?.fields }
            state.head = head
            state.body = body
            state.verdict = outcome
        }
        return outcome == nil
    }

    func transfer(_ id: TransferID, didReceive bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
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
        let state = state.withLock { state in
            defer { (state.body, state.partial) = (nil, nil) }
            return state
        }
        if state.hasBegun { stage.countRequest(-1) }
        let error: TransferError? = if case .failure(let error) = result { error } else { nil }
        let sign = HostSign(head: state.head, error: error)
        if case .held(let delay, let since, _) = sign { holds.hold(cursor, until: since + delay) }
        onTransferEnd(sign)
        // Not on the loop's thread: the following checks bytes and writes files.
        stage.work.async(.init(bytes: state.body?.count ?? 0)) { [self] in
            state.partial?.putBack()
            if let verdict = state.verdict { return end(verdict) }
            switch result {
            // Checking a large body takes a while, and an interrupt does not wait for it.
            case .success where isCancelled: end(.failed(Self.cancellation))
            case .failure(let error) where error.code == .outOfFiles:
                // Nothing else could open a file either.
                end(.broken(CacheError("connect", subject: "\(fetch.target.url)", errno: EMFILE)))
            case .failure(let error): interrupted(ResourceFailure(error), state)
            case .success(let metrics):
                guard let head = state.head else { return end(.failed(Self.cancellation)) }
                if let body = state.body, let failure = stage.lengthFailure(of: body, head) {
                    return interrupted(failure, state)
                }
                stage.deposit(
                    fetch, head: head, body: state.body, resumed: state.resumed, metrics: metrics,
                    for: depositor
                ) { self.end($0) }
            }
        }
    }

    private func interrupted(_ failure: ResourceFailure, _ state: State) {
        if let head = state.head, let body = state.body, failure.isTransient || isCancelled {
            stage.keep(body, of: fetch, head: head, resumed: state.resumed)
        }
        end(.failed(failure))
    }
}

/// Origins that asked to wait, and until when. Shared with the operations, so that one about to
/// start sees a hold as soon as its response has arrived.
final class HostHolds: Sendable {
    private let state = Mutex(State())

    private struct State {
        var instants: [Int: ContinuousClock.Instant] = [:]
        var isStopping = false
    }

    func hold(_ cursor: Int, until instant: ContinuousClock.Instant) {
        state.withLock { $0.instants[cursor] = max(instant, $0.instants[cursor] ?? instant) }
    }

    func stop() { state.withLock { $0.isStopping = true } }

    func allows(_ cursor: Int) -> Bool {
        state.withLock { state in
            if state.isStopping { return false }
            guard let instant = state.instants[cursor] else { return true }
            if instant > .now { return false }
            state.instants[cursor] = nil
            return true
        }
    }
}
