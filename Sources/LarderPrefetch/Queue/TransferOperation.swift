import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import Synchronization

/// The state of a fetch of a planned resource. Each redirect or retry creates another one. A class,
/// because a fetch passes it on about thirty times.
final class Attempt: Sendable {
    let planned: PlannedResource
    let target: RequestTarget
    /// The number of the attempt, from 1. Redirects and restarts do not count.
    let attempt: Int
    let lastFailure: ResourceFailure?
    var attemptsBegun: Int { target.redirects == 0 ? attempt - 1 : attempt }
    private let isUnconditional: Bool
    var askedAbout: Resource? { isUnconditional ? nil : target.asked(about: planned.known) }
    let start: ContinuousClock.Instant

    init(_ planned: PlannedResource, url: HTTPURL) {
        (self.planned, target, start) = (planned, RequestTarget(url), .now)
        (attempt, lastFailure, isUnconditional) = (1, nil, false)
    }

    private init(_ last: Attempt, _ target: RequestTarget, after failure: ResourceFailure?) {
        (planned, start, self.target) = (last.planned, last.start, target)
        attempt = failure == nil ? last.attempt : last.attempt + 1
        lastFailure = failure ?? last.lastFailure
        isUnconditional = last.isUnconditional || failure?.asksUnconditionally ?? false
    }

    func redirected(to target: RequestTarget) -> Attempt { Attempt(self, target, after: nil) }

    func again(from url: HTTPURL, after failure: ResourceFailure) -> Attempt {
        Attempt(self, RequestTarget(url), after: failure)
    }

    var elapsed: Double { (ContinuousClock.now - start) / .seconds(1) }
}

/// One request in an operation queue. It ends before the body is checked and staged.
final class TransferOperation: Operation, TransferReceiver, @unchecked Sendable {
    // Unchecked because the state is mutable. It is atomic or used only on the loop's queue.

    let fetch: Attempt
    let next: HostSchedule.Next
    private unowned let queue: FetchQueue
    private let stage: OperationContext
    private let phase = Atomic<Phase>(.waiting)
    private var transfer: TransferID?
    private var response = Response()

    private enum Phase: UInt8, AtomicRepresentable { case waiting, executing, finished }

    struct Response {
        var head: ResponseHead?
        var body: StagedBody?
        /// The partial body of an earlier transfer, until the response continues or replaces it.
        var partial: PartialBody?
        /// The fields of the first response, if the current response continues its body.
        var resumed: Validators?
        /// The outcome if the request was not sent, or this operation ended the transfer.
        var verdict: RequestOutcome?
        var result: Result<TransferMetrics, TransferError>?
    }

    init(_ next: HostSchedule.Next, stage: OperationContext, queue: FetchQueue) {
        (fetch, self.next, self.stage) = (next.fetch, next, stage)
        self.queue = queue
        super.init()
        queuePriority =
            switch fetch.planned.priority {
            case ...(-8): .veryLow
            case ..<0: .low
            case 0: .normal
            case ..<8: .high
            default: .veryHigh
            }
    }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { phase.load(ordering: .acquiring) == .executing }
    override var isFinished: Bool { phase.load(ordering: .acquiring) == .finished }

    override func start() {
        move(to: .executing)
        guard !isCancelled, queue.mayStart(self) else {
            response.verdict = .held
            return finish()
        }
        guard !next.onlyConnects, stage.store.partials.has(fetch.target.url.string) else {
            return begin(nil)
        }
        // Reading and digesting the partial body on this thread would delay all transfers.
        stage.lanes.add(
            { [self] in
                let partial = stage.partial(of: fetch)
                stage.loop.perform { [self] in begin(partial) }
            }, bytes: 1 << 20)
    }

    private func begin(_ partial: PartialBody?) {
        response.partial = partial
        if isCancelled {
            response.result = .failure(TransferError(.cancelled, "cancelled"))
            return finish()
        }
        var request = stage.policy.request(
            to: fetch.target, about: next.onlyConnects ? nil : fetch.askedAbout,
            continuing: partial)
        request.isLastOfHost = next.isLast && !next.onlyConnects
        request.onlyConnects = next.onlyConnects
        request.sharesConnection = next.sharesConnection
        transfer = stage.loop.start(request, receiver: self)
    }

    override func cancel() {
        super.cancel()
        if let transfer { stage.loop.cancel(transfer) }
    }

    private func finish() {
        let response = response
        self.response = Response()
        move(to: .finished)
        queue.ended(self, response)
    }

    private func move(to next: Phase) {
        willChangeValue(forKey: "isExecuting")
        if next == .finished { willChangeValue(forKey: "isFinished") }
        phase.store(next, ordering: .releasing)
        if next == .finished { didChangeValue(forKey: "isFinished") }
        didChangeValue(forKey: "isExecuting")
    }

    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool {
        let partial = response.partial
        response.verdict = stage.policy.verdict(
            on: head, to: fetch.target, about: fetch.askedAbout, continuing: partial)
        response.head = head
        if response.verdict == nil, head.status != 304 {
            do throws(CacheError) {
                response.body = try stage.newBody(
                    for: id, head: head, continuing: head.status == 206 ? partial : nil)
                if head.status == 206 { response.resumed = partial?.trailer.fields }
            } catch {
                response.verdict = .broken(error)
            }
        }
        // Other statuses leave the partial body valid.
        if [200, 203, 206, 404, 410, 416].contains(head.status) { response.partial = nil }
        if case .restart = response.verdict { response.partial = nil }
        return response.verdict == nil
    }

    func transfer(_ id: TransferID, didReceive bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        guard let body = response.body else { return .proceed }
        do throws(CacheError) {
            guard try body.append(bytes) else { return .pause }
            stage.receivedBytes.wrappingAdd(Int64(bytes.count), ordering: .relaxed)
            return .proceed
        } catch {
            response.verdict = .broken(error)
            return .stop
        }
    }

    func transfer(_ id: TransferID, didEnd result: Result<TransferMetrics, TransferError>) {
        transfer = nil
        response.result = result
        finish()
    }
}
