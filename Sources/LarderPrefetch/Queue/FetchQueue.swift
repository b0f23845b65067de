import Foundation
import LarderCache
import LarderHTTP
import Logging
import Synchronization

/// Feeds two operation queues from a plan, in the order of the ``HostSchedule``.
///
/// `requests` has one operation for each slot (`--max-concurrent`), and a few that wait for one by
/// priority. `connections` opens the first connection to a host, so that slow handshakes take no
/// slot. The loop's queue is the underlying queue of both: an operation starts, ends and makes room
/// for the next on the thread that runs libcurl.
final class FetchQueue: Depositor, @unchecked Sendable {
    // Unchecked because the state is variables. They belong to the loop's queue, except the atomic
    // ones.

    /// Maximum number of failures of origins that were given up and are not reported yet.
    private static let failuresAhead = 1024
    /// Maximum number of operations that wait for a slot.
    private static let mostAhead = 4
    /// No fetch is taken from the schedule while more responses, or more of their bytes, are to be
    /// checked and staged.
    private static let backlog: (responses: Int, bytes: Int) = (256, 2 << 20)
    /// So many responses are handed over together, …
    private static let handover = 32
    /// … or after this time, since waking a thread takes longer than checking an icon.
    private static let handoverDelay = Duration.milliseconds(2)

    private let stage: OperationContext
    private let loop: TransferLoop
    private let limits: QueueLimits
    private let report: @Sendable ([ResourceResult]) -> Void
    private let requests = OperationQueue()
    private let connections = OperationQueue()
    private let idle = DispatchSemaphore(value: 0)

    private var schedule: HostSchedule
    /// Operations that have not ended.
    private var operations = 0
    private var executing = 0
    private var failuresUnderWay = 0
    /// Fetches that have come to their end, except those that were sent back since.
    private var arrived = 0
    /// Small responses that were not handed over yet.
    private var outbox: [StagingLanes.Work] = []
    private var outboxDue = ContinuousClock.now
    private var isStopping = false
    private var failure: (any Error)?

    /// Whether responses that were handed over are not worth the time to check them.
    private let isCancelled = Atomic<Bool>(false)
    /// Responses that were not handed to the store yet.
    private let unstaged = Atomic<Int>(0)
    private let unstagedBytes = Atomic<Int>(0)
    /// Whether to feed again once there are fewer of them.
    private let wantsRoom = Atomic<Bool>(false)
    /// Bodies handed to the store and not committed.
    private let depositsUnderWay = Atomic<Int>(0)

    /// - Parameter report: Called with results, batch by batch, never during a commit.
    init(
        plan: Plan, cache: Cache, stage: OperationContext, limits: QueueLimits,
        report: @escaping @Sendable ([ResourceResult]) -> Void
    ) throws {
        self.stage = stage
        self.limits = limits
        self.report = report
        loop = stage.loop
        requests.maxConcurrentOperationCount = limits.concurrent
        connections.maxConcurrentOperationCount = max(1, loop.connectionsAhead)
        for queue in [requests, connections] { queue.underlyingQueue = loop.queue }
        schedule = try HostSchedule(
            plan: plan, cache: cache, slots: limits.concurrent,
            // Requests waiting in the queue would leave it in bursts and exceed a rate.
            ahead: limits.hosts.ratePerHost == nil ? Self.mostAhead : 0,
            connections: loop.connectionsAhead, limits: limits.hosts, retry: limits.retry,
            isConnected: { [loop] in loop.isConnected(to: $0) })
    }

    /// Fetches all pending resources. Returns when everything is committed and reported.
    func run() throws {
        loop.perform { [self] in
            loop.onRound = { [unowned self] in turn() }
            attempt { try schedule.begin() }
            feed()
        }
        // A commit can return fetches to the queue (their object was evicted) or leave failures to
        // report. Deposits after the flush wait for the next one. So the run ends only when nothing
        // is in progress anywhere.
        repeat {
            idle.wait()
            stage.store.flush()
        } while !loop.sync { self.isDone }
        let failure = loop.sync {
            self.loop.onRound = nil
            return self.failure
        }
        if let failure { throw failure }
    }

    /// Starts nothing more, and cancels what is in flight after the grace period.
    func stop() {
        loop.perform { [self] in
            stopFeeding()
            // A connection would be of no use.
            connections.cancelAllOperations()
            for operation in requests.operations where !operation.isExecuting { operation.cancel() }
        }
        let end = DispatchTime.now() + limits.grace / .seconds(1)
        DispatchQueue.global().asyncAfter(deadline: end) { [self] in
            loop.perform { [self] in cancelAll() }
        }
    }

    func committed(_ outcomes: [Store.Outcome]) {
        var results: [ResourceResult] = []
        var refused: [(Attempt, ResourceFailure)] = []
        var broken: CacheError?
        var deposits = 0
        for outcome in outcomes {
            guard let deposited = outcome.context as? OperationContext.Deposited else { continue }
            let (fetch, result) = (deposited.fetch, deposited.result)
            if case .success = result.result { deposits += 1 }
            switch outcome.result {
            case .success: results.append(result)
            case .failure(let error):
                if let failure = ResourceFailure(ofDeposit: error) {
                    refused.append((fetch, failure))
                    continue
                }
                // The failure stands, whether it was remembered or not.
                if case .failure = result.result { results.append(result) }
                broken = error
            }
        }
        stage.logger?.debug("batch committed", metadata: ["resources": "\(outcomes.count)"])
        if !results.isEmpty { hand(over: results) }
        loop.perform { [self, refused, broken, deposits] in
            if let broken { breakOff(broken) }
            arrived -= refused.count
            for (fetch, failure) in refused { retry(fetch, after: failure) }
            // Only after the returned fetches were counted, or the queue would seem idle.
            depositsUnderWay.subtract(deposits, ordering: .relaxed)
            feed()
        }
    }

    private func hand(over results: [ResourceResult]) {
        report(results)
        let failures = results.count { if case .failure = $0.result { true } else { false } }
        guard failures > 0 else { return }
        loop.perform { [self] in
            failuresUnderWay -= failures
            feed()
        }
    }

    func sample(_ body: @escaping @Sendable (Progress) -> Void) {
        loop.perform { [self] in
            let delayed = schedule.delayed
            var progress = Progress()
            progress.arrived = arrived
            progress.underWay = executing
            progress.waiting = delayed.count
            progress.secondsToAttempt = delayed.min.map { ($0.instant - .now) / .seconds(1) }
            progress.receivedBytes = stage.received.load(ordering: .relaxed)
            body(progress)
        }
    }

    // MARK: - On the loop's queue

    private var isIdle: Bool {
        operations == 0 && unstaged.load(ordering: .acquiring) == 0
            && (isStopping || schedule.isEmpty)
    }

    private var isDone: Bool {
        isIdle && failuresUnderWay == 0 && depositsUnderWay.load(ordering: .relaxed) == 0
    }

    private var isBacklogged: Bool {
        unstaged.load(ordering: .sequentiallyConsistent) >= Self.backlog.responses
            || unstagedBytes.load(ordering: .relaxed) >= Self.backlog.bytes
    }

    /// At the end of a round of the loop. Returns when the next one is due.
    private func turn() -> ContinuousClock.Instant? {
        if loop.hasEnded, !isStopping {
            breakOff(TransferError(code: .other, message: "libcurl cannot continue"))
        }
        feed()
        if !outbox.isEmpty, operations == 0 || outbox.count >= Self.handover || outboxDue <= .now {
            stage.lanes.add(outbox)
            outbox.removeAll(keepingCapacity: true)
        }
        // While responses are to be staged, nothing is taken, however long it has been due.
        let next = isStopping || isBacklogged ? nil : schedule.nextInstant
        return [outbox.isEmpty ? nil : outboxDue, next].compactMap(\.self).min()
    }

    private func feed() {
        attempt {
            while !isStopping, !isBacklogged, let next = try schedule.next() {
                let operation = TransferOperation(next, stage: stage, queue: self)
                operations += 1
                (next.onlyConnects ? connections : requests).addOperation(operation)
                // It starts by another block of the queue.
                loop.goOn()
            }
            while !isStopping, failuresUnderWay < Self.failuresAhead,
                let (fetch, failure) = try schedule.nextGivenUp()
            {
                fail(fetch, failure, attempts: fetch.attemptsBegun)
            }
        }
        if isIdle {
            idle.signal()
        } else {
            awaitRoom()
            if operations == 0, !isStopping, !isBacklogged, schedule.nextInstant != nil {
                loop.goOn()
            }
        }
    }

    private func attempt(_ body: () throws -> Void) {
        do { try body() } catch { breakOff(error) }
    }

    /// Called when an operation starts. If it returns false, the operation ends as held.
    func mayStart(_ operation: TransferOperation) -> Bool {
        guard !isStopping, schedule.mayStart(operation.cursor),
            schedule.isLate(operation.fetch) == nil
        else { return false }
        executing += 1
        return true
    }

    /// Called when an operation has finished.
    func ended(_ operation: TransferOperation, _ response: TransferOperation.Response) {
        operations -= 1
        if response.result != nil { executing -= 1 }
        response.partial?.putBack()
        let (fetch, cursor) = (operation.fetch, operation.cursor)
        attempt {
            try note(HostSign(response), of: cursor)
            if operation.onlyConnects {
                var isOpen = false
                if case .success? = response.result { isOpen = true }
                try schedule.endedConnecting(fetch, of: cursor, isOpen: isOpen)
                if isOpen { return }
            } else {
                try schedule.ended(cursor)
            }
            if case .held? = response.verdict, let failure = schedule.isLate(fetch) {
                fail(fetch, failure, attempts: fetch.attemptsBegun)
            } else if let verdict = response.verdict {
                try settle(fetch, verdict, cursor: cursor)
            } else {
                hand(over: operation, response)
            }
        }
        loop.goOn()
    }

    /// Has a response checked and staged, on another thread if it has bytes.
    private func hand(over operation: TransferOperation, _ response: TransferOperation.Response) {
        let bytes = response.body?.count ?? 0
        let weight = Int(min(bytes, Int64(StagedBody.memoryLimit)))
        arrived += 1
        unstaged.add(1, ordering: .relaxed)
        unstagedBytes.add(weight, ordering: .relaxed)
        let work: StagingLanes.Work = { [self] in
            depositsUnderWay.add(1, ordering: .relaxed)
            let outcome = stage.settle(
                operation.fetch, response,
                isCancelled: operation.isCancelled || isCancelled.load(ordering: .relaxed),
                for: self, accepted: { [self] in staged(weight) })
            guard let outcome else { return }
            depositsUnderWay.subtract(1, ordering: .relaxed)
            loop.perform { [self] in
                arrived -= 1
                attempt { try settle(operation.fetch, outcome, cursor: operation.cursor) }
                staged(weight)
                feed()
            }
        }
        // Without a body it takes too little time for another thread.
        guard response.body != nil else { return work() }
        let load = StagingLanes.Load(bytes: bytes)
        guard load == .small else { return stage.lanes.add(work, load) }
        if outbox.isEmpty { outboxDue = .now + Self.handoverDelay }
        outbox.append(work)
    }

    /// Feeds again when responses were staged, if no operation will end before.
    private func awaitRoom() {
        let isFull = isBacklogged
        guard isFull || operations == 0 && unstaged.load(ordering: .acquiring) > 0 else { return }
        wantsRoom.store(true, ordering: .sequentiallyConsistent)
        // Those that were staged meanwhile did not see it.
        if isFull ? !isBacklogged : unstaged.load(ordering: .sequentiallyConsistent) == 0 { room() }
    }

    /// From any thread.
    private func staged(_ bytes: Int) {
        let bytesLeft = unstagedBytes.subtract(bytes, ordering: .relaxed).newValue
        let left = unstaged.subtract(1, ordering: .sequentiallyConsistent).newValue
        if left == 0 || left == Self.backlog.responses / 2 || bytesLeft < Self.backlog.bytes / 2 {
            room()
        }
    }

    private func room() {
        guard wantsRoom.load(ordering: .sequentiallyConsistent),
            wantsRoom.exchange(false, ordering: .sequentiallyConsistent)
        else { return }
        loop.perform { [self] in feed() }
    }

    private func note(_ sign: HostSign, of cursor: Int) throws {
        let failure = try schedule.note(sign, of: cursor)
        guard let logger = stage.logger, logger.logLevel <= .info else { return }
        let origin: Logger.MetadataValue = "\(schedule.name(of: cursor))"
        if case .held(let delay, _, let status) = sign {
            logger.info(
                "origin asks to wait",
                metadata: ["origin": origin, "delay": "\(delay)", "status": "\(status)"])
        }
        if let failure {
            logger.info("origin given up", metadata: ["origin": origin, "code": "\(failure.code)"])
        }
    }

    private func settle(
        _ fetch: Attempt, _ outcome: TransferOperation.Outcome, cursor: Int
    ) throws {
        switch outcome {
        case .redirect(let location, let freshUntil, let cookies):
            var next = fetch
            do throws(ResourceFailure) {
                try next.target.follow(
                    location, freshUntil: freshUntil, cookies: cookies,
                    allowsDowngrade: limits.allowsDowngrade)
            } catch {
                return fail(fetch, error)
            }
            stage.logger?.debug(
                "redirected",
                metadata: ["from": fetch.target.url.logged, "to": next.target.url.logged])
            try schedule.put(back: next)
        case .held, .restart: try schedule.put(back: fetch)
        case .failed(let failure): retry(fetch, after: failure, cursor: cursor)
        case .broken(let error): breakOff(error)
        }
    }

    /// - Parameter cursor: of the origin that the failure came from, if it came from one.
    private func retry(_ fetch: Attempt, after failure: ResourceFailure, cursor: Int? = nil) {
        // An interrupted fetch is unfinished, not failed.
        if isStopping,
            failure.isTransient || failure.code == ResourceFailure.Reason.cancelled.rawValue
        {
            return
        }
        switch schedule.retry(fetch, after: failure, cursor: cursor) {
        case .success(let instant):
            stage.logger?.info(
                "retrying",
                metadata: [
                    "url": fetch.target.url.logged, "code": "\(failure.code)",
                    "attempt": "\(fetch.attempt)", "delay": "\(instant - .now)",
                ])
        case .failure(let failure): fail(fetch, failure)
        }
    }

    /// - Parameter attempts: how many were begun, if the last one was not.
    private func fail(_ fetch: Attempt, _ failure: ResourceFailure, attempts: Int? = nil) {
        let result = ResourceResult(
            id: fetch.planned.id, result: .failure(failure), attempts: attempts ?? fetch.attempt,
            seconds: fetch.elapsed)
        arrived += 1
        failuresUnderWay += 1
        // A resource that was never requested has not failed itself.
        if limits.remembersFailures, failure.isRemembered, attempts != 0 {
            // Reported in turn with the store's commits.
            stage.store.add(
                Deposit(
                    context: OperationContext.Deposited(fetch: fetch, result: result),
                    key: fetch.planned.key, url: fetch.planned.url, receivedAt: Date(),
                    content: .failed(code: failure.code, status: failure.status)),
                for: self)
        } else {
            // Must not be reported during a commit.
            stage.store.afterCommits { [self] in hand(over: [result]) }
        }
    }

    private func breakOff(_ error: any Error) {
        failure = failure ?? error
        stopFeeding()
        cancelAll()
    }

    private func cancelAll() {
        isCancelled.store(true, ordering: .relaxed)
        requests.cancelAllOperations()
        connections.cancelAllOperations()
    }

    private func stopFeeding() {
        isStopping = true
        if isIdle { idle.signal() }
    }
}
