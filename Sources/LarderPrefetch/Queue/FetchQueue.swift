import Foundation
import LarderCache
import LarderHTTP
import Logging
import Synchronization

/// A pair of operation queues, fed from a plan in the order of the ``HostSchedule``. `requests`
/// runs one operation in each slot (`--max-concurrent`). A few more wait for a slot, by priority.
/// `connections` opens the first connection to a host, so that slow handshakes take no slot.
final class FetchQueue: Depositor, @unchecked Sendable {
    // Unchecked because the state is mutable. All state is atomic or used only on the loop's queue.

    /// If this many failures wait to be reported, no fetch starts. The store does not limit them.
    private static let unreportedFailureLimit = 1024
    private static let waitingOperationLimit = 4
    /// If this many responses or bytes wait to be checked and staged, no fetch starts.
    private static let backlogLimit: (responses: Int, bytes: Int) = (256, 2 << 20)
    // Small responses go to a lane in groups, because waking its thread takes longer than a check.
    private static let outboxLimit = 32
    private static let outboxDelay = Duration.milliseconds(2)

    private let stage: OperationContext
    private let loop: TransferLoop
    private let grace: Duration
    private let remembersFailures: Bool
    private let report: @Sendable ([ResourceResult]) -> Void
    private let requests = OperationQueue()
    private let connections = OperationQueue()
    private let idle = DispatchSemaphore(value: 0)

    private var schedule: HostSchedule
    private var operations = 0
    private var executing = 0
    private var unreportedFailures = 0
    /// The number of fetches with a response or failure, except those put back.
    private var arrived = 0
    private var outbox: [StagingLanes.Work] = []
    private var outboxDue = ContinuousClock.now
    private var isStopping = false
    private var failure: (any Error)?

    private let isCancelled = Atomic<Bool>(false)
    private let unstaged = Atomic<Int>(0)
    private let unstagedBytes = Atomic<Int>(0)
    private let isFeedRequested = Atomic<Bool>(false)
    private let uncommitted = Atomic<Int>(0)

    init(
        plan: Plan, cache: Cache, stage: OperationContext, slots: Int, hosts: HostLimits,
        retry: RetryPolicy, grace: Duration, remembersFailures: Bool,
        report: @escaping @Sendable ([ResourceResult]) -> Void
    ) throws {
        (self.stage, self.report, loop) = (stage, report, stage.loop)
        (self.grace, self.remembersFailures) = (grace, remembersFailures)
        requests.maxConcurrentOperationCount = slots
        connections.maxConcurrentOperationCount = max(1, loop.connectionsAhead)
        for queue in [requests, connections] { queue.underlyingQueue = loop.queue }
        schedule = try HostSchedule(
            plan: plan, cache: cache, slots: slots,
            // Requests that already wait in the queue would start in bursts, above a rate limit.
            ahead: hosts.ratePerHost == nil ? Self.waitingOperationLimit : 0,
            connections: loop.connectionsAhead, limits: hosts, retry: retry,
            isConnected: { [loop] in loop.isConnected(to: $0) })
    }

    /// Fetches all pending resources. Returns when they are committed and reported.
    func run() throws {
        loop.perform { [self] in
            loop.onRound = { [unowned self] in endOfRound() }
            attempt { try schedule.begin() }
            feed()
        }
        // A commit can lead to more failures to report, and to more fetches after an eviction.
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

    func stop() {
        loop.perform { [self] in
            stopFeeding()
            connections.cancelAllOperations()
            for operation in requests.operations where !operation.isExecuting { operation.cancel() }
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + grace / .seconds(1)) { [self] in
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
            if !result.isFailure { deposits += 1 }
            switch outcome.result {
            case .success: results.append(result)
            case .failure(let error):
                if let failure = ResourceFailure(ofDeposit: error) {
                    refused.append((fetch, failure))
                    continue
                }
                // The fetch failed, even if the cache could not record this.
                if result.isFailure { results.append(result) }
                broken = error
            }
        }
        stage.logger?.debug("batch committed", metadata: ["resources": "\(outcomes.count)"])
        if !results.isEmpty { deliver(results) }
        loop.perform { [self, refused, broken, deposits] in
            if let broken { breakOff(broken) }
            arrived -= refused.count
            for (fetch, failure) in refused { retry(fetch, after: failure) }
            // Subtracted last, so that the queue does not seem idle before fetches are put back.
            uncommitted.subtract(deposits, ordering: .relaxed)
            feed()
        }
    }

    private func deliver(_ results: [ResourceResult]) {
        report(results)
        let failures = results.count(where: \.isFailure)
        guard failures > 0 else { return }
        loop.perform { [self] in
            unreportedFailures -= failures
            feed()
        }
    }

    func sample(_ body: @escaping @Sendable (Progress) -> Void) {
        loop.perform { [self] in
            let delayed = schedule.delayed
            var progress = Progress()
            (progress.arrived, progress.underWay) = (arrived, executing)
            progress.waiting = delayed.count
            progress.secondsToAttempt = delayed.min.map { ($0.instant - .now) / .seconds(1) }
            progress.receivedBytes = stage.receivedBytes.load(ordering: .relaxed)
            body(progress)
        }
    }

    // MARK: - Called on the loop's queue
    private var isIdle: Bool {
        operations == 0 && unstaged.load(ordering: .acquiring) == 0
            && (isStopping || schedule.isEmpty)
    }

    private var isDone: Bool {
        isIdle && unreportedFailures == 0 && uncommitted.load(ordering: .relaxed) == 0
    }

    private var isBacklogged: Bool {
        unstaged.load(ordering: .sequentiallyConsistent) >= Self.backlogLimit.responses
            || unstagedBytes.load(ordering: .relaxed) >= Self.backlogLimit.bytes
            || unreportedFailures >= Self.unreportedFailureLimit
    }

    private func endOfRound() -> ContinuousClock.Instant? {
        if loop.hasEnded, !isStopping { breakOff(TransferError(.other, "libcurl cannot continue")) }
        feed()
        if !outbox.isEmpty,
            operations == 0 || outbox.count >= Self.outboxLimit || outboxDue <= .now
        {
            stage.lanes.add(outbox)
            outbox.removeAll(keepingCapacity: true)
        }
        let next = isStopping || isBacklogged ? nil : schedule.nextInstant
        return [outbox.isEmpty ? nil : outboxDue, next].compactMap(\.self).min()
    }

    private func feed() {
        attempt {
            while !isStopping, !isBacklogged, let next = try schedule.next() {
                let operation = TransferOperation(next, stage: stage, queue: self)
                operations += 1
                (next.onlyConnects ? connections : requests).addOperation(operation)
                // The operation starts in a later block, so the loop needs another round.
                loop.scheduleRound()
            }
            while !isStopping, unreportedFailures < Self.unreportedFailureLimit,
                let (fetch, failure) = try schedule.nextGivenUp()
            {
                fail(fetch, failure, attempts: fetch.attemptsBegun)
            }
        }
        if isIdle {
            idle.signal()
            return
        }
        feedAfterStaging()
        if operations == 0, !isStopping, !isBacklogged, schedule.nextInstant != nil {
            loop.scheduleRound()
        }
    }

    private func attempt(_ body: () throws -> Void) { do { try body() } catch { breakOff(error) } }

    /// Whether the operation may start. If not, its outcome is `held`.
    func mayStart(_ operation: TransferOperation) -> Bool {
        guard !isStopping, schedule.mayStart(operation.next.cursor),
            schedule.failureIfLate(operation.fetch) == nil
        else { return false }
        if !operation.next.onlyConnects { executing += 1 }
        return true
    }

    func ended(_ operation: TransferOperation, _ response: TransferOperation.Response) {
        operations -= 1
        if response.result != nil, !operation.next.onlyConnects { executing -= 1 }
        response.partial?.putBack()
        let (fetch, cursor) = (operation.fetch, operation.next.cursor)
        attempt {
            try note(HostSign(response), of: cursor)
            if operation.next.onlyConnects {
                let isOpen = (try? response.result?.get()) != nil
                try schedule.endedConnecting(fetch, of: cursor, isOpen: isOpen)
                if isOpen { return }
            } else {
                try schedule.ended(cursor)
            }
            if case .held? = response.verdict, let failure = schedule.failureIfLate(fetch) {
                fail(fetch, failure, attempts: fetch.attemptsBegun)
            } else if let verdict = response.verdict {
                try settle(fetch, verdict, cursor: cursor)
            } else {
                stageResponse(response, of: operation)
            }
        }
        loop.scheduleRound()
    }

    private func stageResponse(
        _ response: TransferOperation.Response, of operation: TransferOperation
    ) {
        let bytes = response.body?.count ?? 0
        let weight = Int(min(bytes, Int64(StagedBody.memoryLimit)))
        arrived += 1
        unstaged.add(1, ordering: .relaxed)
        unstagedBytes.add(weight, ordering: .relaxed)
        let work: StagingLanes.Work = { [self] in
            uncommitted.add(1, ordering: .relaxed)
            let outcome = stage.settle(
                operation.fetch, response,
                isCancelled: operation.isCancelled || isCancelled.load(ordering: .relaxed),
                for: self, accepted: { [self] in staged(weight) })
            guard let outcome else { return }
            uncommitted.subtract(1, ordering: .relaxed)
            loop.perform { [self] in
                arrived -= 1
                attempt { try settle(operation.fetch, outcome, cursor: operation.next.cursor) }
                staged(weight)
                feed()
            }
        }
        // Without a body, staging takes less time than waking a thread.
        guard response.body != nil else { return work() }
        if bytes > StagedBody.memoryLimit { return stage.lanes.add(work, bytes: bytes) }
        if outbox.isEmpty { outboxDue = .now + Self.outboxDelay }
        outbox.append(work)
    }

    /// Requests a call of `feed()` after staging, unless the end of an operation will cause one.
    private func feedAfterStaging() {
        let isFull = isBacklogged
        guard isFull || operations == 0 && unstaged.load(ordering: .acquiring) > 0 else { return }
        isFeedRequested.store(true, ordering: .sequentiallyConsistent)
        // Checks again, because the last response may have been staged before the flag was set.
        if isFull ? !isBacklogged : unstaged.load(ordering: .sequentiallyConsistent) == 0 {
            feedIfRequested()
        }
    }

    private func staged(_ bytes: Int) {
        let bytesLeft = unstagedBytes.subtract(bytes, ordering: .relaxed).newValue
        let left = unstaged.subtract(1, ordering: .sequentiallyConsistent).newValue
        let limit = Self.backlogLimit
        if left == 0 || left == limit.responses / 2 || bytesLeft < limit.bytes / 2 {
            feedIfRequested()
        }
    }

    private func feedIfRequested() {
        guard isFeedRequested.load(ordering: .sequentiallyConsistent),
            isFeedRequested.exchange(false, ordering: .sequentiallyConsistent)
        else { return }
        loop.perform { [self] in feed() }
    }

    private func note(_ sign: HostSign, of cursor: Int) throws {
        let failure = try schedule.note(sign, of: cursor)
        guard let logger = stage.logger, logger.logLevel <= .info else { return }
        let origin: Logger.MetadataValue = "\(schedule.names[cursor])"
        if case .held(let delay, _, let status) = sign {
            logger.info(
                "origin requests a delay",
                metadata: ["origin": origin, "delay": "\(delay)", "status": "\(status)"])
        }
        if let failure {
            logger.info("origin given up", metadata: ["origin": origin, "code": "\(failure.code)"])
        }
    }

    private func settle(_ fetch: Attempt, _ outcome: RequestOutcome, cursor: Int) throws {
        switch outcome {
        case .redirect(let location, let freshUntil, let cookies):
            var target = fetch.target
            do throws(ResourceFailure) {
                try target.follow(
                    location, freshUntil: freshUntil, cookies: cookies,
                    allowsDowngrade: stage.policy.allowsDowngrade)
            } catch {
                return fail(fetch, error)
            }
            stage.logger?.debug(
                "redirected",
                metadata: ["from": fetch.target.url.logged, "to": target.url.logged])
            try schedule.put(back: fetch.redirected(to: target))
        case .held, .restart: try schedule.put(back: fetch)
        case .failed(let failure): retry(fetch, after: failure, cursor: cursor)
        case .broken(let error): breakOff(error)
        }
    }

    private func retry(_ fetch: Attempt, after failure: ResourceFailure, cursor: Int? = nil) {
        // An interrupted fetch is unfinished, not failed.
        let wasCancelled = failure.code == ResourceFailure.Reason.cancelled.rawValue
        if isStopping, failure.isTransient || wasCancelled { return }
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

    private func fail(_ fetch: Attempt, _ failure: ResourceFailure, attempts: Int? = nil) {
        let result = ResourceResult(
            id: fetch.planned.id, result: .failure(failure), attempts: attempts ?? fetch.attempt,
            seconds: fetch.elapsed)
        arrived += 1
        unreportedFailures += 1
        // An origin's failure is not recorded for URLs that were never requested.
        if remembersFailures, failure.isRemembered, attempts != 0 {
            stage.store.add(
                Deposit(
                    context: OperationContext.Deposited(fetch: fetch, result: result),
                    key: fetch.planned.key, url: fetch.planned.url, receivedAt: Date(),
                    content: .failed(code: failure.code, status: failure.status)),
                for: self)
        } else {
            stage.store.afterCommits { [self] in deliver([result]) }
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
