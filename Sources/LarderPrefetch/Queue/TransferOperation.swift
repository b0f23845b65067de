import Foundation
import LarderCache
import LarderHTTP
import Synchronization

/// One request, in a slot of the operation queue: from ``start()`` to the end of its transfer. Its
/// bytes are checked and staged after it has finished.
final class TransferOperation: Operation, TransferReceiver, @unchecked Sendable {
    // Unchecked because the state is variables; all of it belongs to the loop's queue, which is the
    // underlying queue of the operation queues, but for `phase`, which is atomic.

    let fetch: Attempt
    private let next: HostSchedule.Next
    private unowned let queue: FetchQueue
    private let stage: OperationContext
    private let phase = Atomic<Phase>(.waiting)
    private var transfer: TransferID?
    private var response = Response()

    private enum Phase: UInt8, AtomicRepresentable { case waiting, executing, finished }

    /// What has arrived.
    struct Response {
        var head: ResponseHead?
        var body: StagedBody?
        /// The partial body of an interrupted transfer, until a response decides about it.
        var partial: PartialBody?
        /// The header fields of the partial body's response, while the rest arrives.
        var resumed: Validators?
        /// Why the transfer was not begun, or was ended on our side.
        var verdict: Outcome?
        var result: Result<TransferMetrics, TransferError>?
    }

    enum Outcome: Sendable {
        case redirect(String, freshUntil: Date, cookies: [String])
        case failed(ResourceFailure)
        /// A request for the rest of a body got another answer: the body is fetched from its start.
        case restart
        /// No request was made: the origin asked to wait, or the run ends.
        case held
        /// The cache failed, and the run cannot continue.
        case broken(CacheError)
    }

    init(_ next: HostSchedule.Next, stage: OperationContext, queue: FetchQueue) {
        fetch = next.fetch
        self.next = next
        self.stage = stage
        self.queue = queue
        super.init()
        queuePriority = Self.queuePriority(fetch.planned.priority)
    }

    var cursor: Int { next.cursor }
    var onlyConnects: Bool { next.onlyConnects }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { phase.load(ordering: .acquiring) == .executing }
    override var isFinished: Bool { phase.load(ordering: .acquiring) == .finished }

    override func start() {
        move(to: .executing)
        guard !isCancelled, queue.mayStart(self) else {
            response.verdict = .held
            return finish()
        }
        guard !onlyConnects, stage.store.partials.has(fetch.target.url.string) else {
            return begin(nil)
        }
        // All of it is read, which would delay every other transfer.
        stage.lanes.add(
            { [self] in
                let partial = stage.partial(of: fetch)
                stage.loop.perform { [self] in begin(partial) }
            }, .long)
    }

    private func begin(_ partial: PartialBody?) {
        response.partial = partial
        if isCancelled {
            response.result = .failure(TransferError(code: .cancelled, message: "cancelled"))
            return finish()
        }
        var request = stage.policy.request(
            to: fetch.target, about: onlyConnects ? nil : fetch.askedAbout, continuing: partial)
        request.onlyConnects = onlyConnects
        request.isLastOfHost = next.isLast && !onlyConnects
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
        let key = next == .executing ? "isExecuting" : "isFinished"
        if next == .finished { willChangeValue(forKey: "isExecuting") }
        willChangeValue(forKey: key)
        phase.store(next, ordering: .releasing)
        didChangeValue(forKey: key)
        if next == .finished { didChangeValue(forKey: "isExecuting") }
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

    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool {
        let partial = response.partial
        let verdict = stage.policy.verdict(
            on: head, to: fetch.target, about: fetch.askedAbout, continuing: partial)
        response.head = head
        switch verdict {
        case .body:
            do throws(CacheError) {
                response.body = try stage.newBody(
                    for: id, head: head, continuing: head.status == 206 ? partial : nil)
                if head.status == 206 { response.resumed = partial?.fields }
            } catch {
                response.verdict = .broken(error)
            }
        case .notModified: break
        case .redirect(let location, let freshUntil, let cookies):
            response.verdict = .redirect(location, freshUntil: freshUntil, cookies: cookies)
        case .failed(let failure): response.verdict = .failed(failure)
        case .restart: response.verdict = .restart
        }
        // A partial body of another version is useless. Other statuses say nothing about it.
        if [200, 203, 206, 404, 410, 416].contains(head.status) { response.partial = nil }
        if case .restart = response.verdict { response.partial = nil }
        return response.verdict == nil
    }

    func transfer(_ id: TransferID, didReceive bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        guard let body = response.body else { return .proceed }
        do throws(CacheError) {
            guard try body.append(bytes) == .taken else { return .pause }
            stage.received.wrappingAdd(Int64(bytes.count), ordering: .relaxed)
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
