import Foundation
import LarderCache
import LarderHTTP
import Logging
import Synchronization

/// Feeds an `OperationQueue` from a plan in the order of the ``HostSchedule``, through a window of
/// four times the maximum concurrency, at most ``mostAhead`` more, so that the next operations are
/// ready when a slot is free.
final class FetchQueue: Depositor, @unchecked Sendable {
    // Unchecked because the state is variables; all of it belongs to the serial queue `feeder`.

    /// Maximum number of failures of origins that were given up and are not reported yet.
    private static let failuresAhead = 1024
    /// Maximum number of operations beyond the concurrency: some hold bodies not staged yet.
    private static let mostAhead = 32

    private let stage: OperationContext
    private let limits: QueueLimits
    private let report: @Sendable ([ResourceResult]) -> Void
    private let operations = OperationQueue()
    /// Also checks and stages small bodies, which saves waking a second thread.
    private let feeder: DispatchQueue
    private let idle = DispatchSemaphore(value: 0)
    private let timer: any DispatchSourceTimer
    private let holds = HostHolds()
    private let window: Int

    /// Events that the feeder has not processed yet. One wake-up handles all of them.
    private let events = Mutex<[Event]>([])

    private enum Event {
        case transferEnded(HostSign, cursor: Int)
        case ended(Attempt, TransferOperation.Outcome, cursor: Int)
    }

    /// The events that are being processed. Kept for its capacity.
    private var taken: [Event] = []
    private var schedule: HostSchedule
    private var running = 0
    private var failuresUnderWay = 0
    /// Bodies handed to the store and not committed. Negative while their events are on the way.
    private var depositsUnderWay = 0
    /// Fetches that have come to their end, except those that were sent back since.
    private var arrived = 0
    private var alarm: ContinuousClock.Instant?
    private var isStopping = false
    private var failure: (any Error)?

    /// - Parameter report: Called with results, batch by batch, never during a commit.
    init(
        plan: Plan, cache: Cache, stage: OperationContext, limits: QueueLimits,
        report: @escaping @Sendable ([ResourceResult]) -> Void
    ) throws {
        self.stage = stage
        feeder = stage.work.primary
        self.limits = limits
        self.report = report
        // Requests waiting in the queue would leave it in bursts and exceed a rate.
        let ahead = limits.hosts.ratePerHost == nil ? min(3 * limits.concurrent, Self.mostAhead) : 0
        window = limits.concurrent + ahead
        // Beyond the running transfers, others are checked and staged, or wait in the transfer
        // loop, which keeps the limits.
        operations.maxConcurrentOperationCount = window
        // Starting an operation is not worth waking another thread.
        operations.underlyingQueue = feeder
        schedule = try HostSchedule(
            plan: plan, cache: cache, places: window, limits: limits.hosts,
            isConnected: { [loop = stage.loop] in loop.isConnected(to: $0) })
        timer = DispatchSource.makeTimerSource(queue: feeder)
        timer.setEventHandler { [weak self] in
            self?.alarm = nil
            self?.feed()
        }
        timer.resume()
    }

    deinit { timer.cancel() }

    /// Fetches all pending resources. Returns when everything is committed and reported.
    func run() throws {
        feeder.async { [self] in
            attempt { try schedule.begin() }
            feed()
        }
        // A commit can return fetches to the queue (their object was evicted) or leave failures to
        // report. Deposits after the flush wait for the next one. So the run ends only when nothing
        // is in progress anywhere.
        repeat {
            idle.wait()
            stage.store.flush()
        } while !feeder.sync { isDone }
        if let failure = feeder.sync(execute: { failure }) { throw failure }
    }

    /// Starts nothing more, and cancels what is in flight after the grace period.
    func stop() {
        // Immediately, since the feeder may be busy staging bodies.
        holds.stop()
        feeder.async { [self] in
            stopFeeding()
            for operation in operations.operations where !operation.isExecuting {
                operation.cancel()
            }
            feeder.asyncAfter(deadline: .now() + limits.grace / .seconds(1)) { [self] in
                operations.cancelAllOperations()
            }
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
        feeder.async { [self, refused, broken, deposits] in
            if let broken { breakOff(broken) }
            arrived -= refused.count
            for (fetch, failure) in refused { retry(fetch, after: failure) }
            // Only after the returned fetches were counted, or the queue would seem idle.
            depositsUnderWay -= deposits
            feed()
        }
    }

    private func hand(over results: [ResourceResult]) {
        report(results)
        let failures = results.count { if case .failure = $0.result { true } else { false } }
        guard failures > 0 else { return }
        feeder.async { [self] in
            failuresUnderWay -= failures
            feed()
        }
    }

    func sample(_ body: @escaping @Sendable (Progress) -> Void) {
        feeder.async { [self] in body(progress) }
    }

    // MARK: - On the feeder's queue

    private var progress: Progress {
        var progress = Progress()
        progress.arrived = arrived
        progress.underWay = stage.requestsUnderWay
        progress.waiting = schedule.delayed.count
        progress.secondsToAttempt = schedule.delayed.min.map { ($0.instant - .now) / .seconds(1) }
        progress.receivedBytes = stage.receivedBytes
        return progress
    }

    private var isIdle: Bool { running == 0 && (isStopping || schedule.isEmpty) }
    private var isDone: Bool { isIdle && failuresUnderWay == 0 && depositsUnderWay == 0 }

    private func feed() {
        attempt {
            while !isStopping, running < window, let next = try schedule.next() {
                let fetch = try fetch(next.head)
                if let failure = fetch.lastFailure, fetch.target.redirects == 0,
                    ContinuousClock.now - fetch.start > limits.retry.maximumTime
                {
                    // Its host was held after this attempt was scheduled.
                    try schedule.ended(next.cursor)
                    fail(fetch, failure.outOfTime, attempts: fetch.attemptsBegun)
                } else {
                    start(fetch, next)
                }
            }
            while !isStopping, failuresUnderWay < Self.failuresAhead,
                let (head, failure) = try schedule.nextGivenUp()
            {
                let fetch = try fetch(head)
                fail(fetch, failure, attempts: fetch.attemptsBegun)
            }
        }
        setAlarm()
        if isIdle { idle.signal() }
    }

    private func setAlarm() {
        // In a full window nothing can start. The next free slot calls feed() again.
        guard !isStopping, running < window, let next = schedule.nextInstant, next != alarm else {
            return
        }
        alarm = next
        let delay = max(.zero, next - .now)
        timer.schedule(deadline: .now() + delay / .seconds(1), leeway: .milliseconds(1))
    }

    private func attempt(_ body: () throws -> Void) {
        do { try body() } catch { breakOff(error) }
    }

    private func fetch(_ head: HostCursor.Head) throws -> Attempt {
        switch head {
        case .returned(let fetch): fetch
        case .planned(let planned): Attempt(planned, url: try planned.target)
        }
    }

    private func start(_ fetch: Attempt, _ next: HostSchedule.Next) {
        running += 1
        let cursor = next.cursor
        operations.addOperation(
            TransferOperation(
                fetch, cursor: cursor, isLastOfHost: next.isLast, stage: stage, depositor: self,
                holds: holds,
                onTransferEnd: { [self] in post(.transferEnded($0, cursor: cursor)) },
                onEnd: { [self] in post(.ended(fetch, $0, cursor: cursor)) }))
    }

    /// From any thread.
    private func post(_ event: Event) {
        let isFirst = events.withLock { events in
            events.append(event)
            return events.count == 1
        }
        if isFirst { feeder.async { [self] in takeEvents() } }
    }

    private func takeEvents() {
        events.withLock { swap(&$0, &taken) }
        defer { taken.removeAll(keepingCapacity: true) }
        for event in taken {
            attempt {
                switch event {
                case .transferEnded(let sign, let cursor):
                    try note(sign, of: cursor)
                    try schedule.ended(cursor)
                case .ended(let fetch, let outcome, let cursor):
                    running -= 1
                    try settle(fetch, outcome, cursor: cursor)
                }
            }
        }
        feed()
    }

    private func note(_ sign: HostSign, of cursor: Int) throws {
        let wasGivenUp = schedule.failure(of: cursor) != nil
        try schedule.note(sign, of: cursor, patience: limits.retry.maximumTime)
        guard let logger = stage.logger, logger.logLevel <= .info else { return }
        let origin: Logger.MetadataValue = "\(schedule.name(of: cursor))"
        if case .held(let delay, _, let status) = sign {
            logger.info(
                "origin asks to wait",
                metadata: ["origin": origin, "delay": "\(delay)", "status": "\(status)"])
        }
        if !wasGivenUp, let failure = schedule.failure(of: cursor) {
            logger.info("origin given up", metadata: ["origin": origin, "code": "\(failure.code)"])
        }
    }

    private func settle(
        _ fetch: Attempt, _ outcome: TransferOperation.Outcome, cursor: Int
    ) throws {
        switch outcome {
        case .deposited:
            depositsUnderWay += 1
            arrived += 1
        case .redirect(let location, let freshUntil):
            var next = fetch
            do throws(ResourceFailure) {
                try next.target.follow(
                    location, freshUntil: freshUntil, allowsDowngrade: limits.allowsDowngrade)
            } catch {
                return fail(fetch, error)
            }
            stage.logger?.debug(
                "redirected",
                metadata: ["from": fetch.target.url.logged, "to": next.target.url.logged])
            try schedule.put(back: next)
        case .held: try schedule.put(back: fetch)
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
        if failure.isTransient, let cursor, let reason = schedule.failure(of: cursor) {
            return fail(fetch, reason)
        }
        let next = limits.retry.nextAttempt(
            after: failure, attempt: fetch.attempt, since: fetch.start,
            hold: cursor.flatMap { schedule.hold(of: $0) })
        switch next {
        case .success(let instant):
            guard let url = try? fetch.planned.target else { return fail(fetch, failure) }
            stage.logger?.info(
                "retrying",
                metadata: [
                    "url": url.logged, "code": "\(failure.code)", "attempt": "\(fetch.attempt)",
                    "delay": "\(instant - .now)",
                ])
            schedule.put(back: fetch.again(from: url, after: failure), at: instant)
            feed()
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
            stage.remember(failure, of: fetch, result, for: self)
        } else {
            // Must not be reported during a commit.
            stage.store.afterCommits { [self] in hand(over: [result]) }
        }
    }

    private func breakOff(_ error: any Error) {
        failure = failure ?? error
        stopFeeding()
        operations.cancelAllOperations()
    }

    private func stopFeeding() {
        isStopping = true
        holds.stop()
        if isIdle { idle.signal() }
    }
}
