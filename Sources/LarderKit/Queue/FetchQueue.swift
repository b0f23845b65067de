import Foundation
import HeapModule
import LarderCache
import LarderTransfer

/// Feeds an `OperationQueue` from a plan, through a bounded window.
///
/// Only what could start now becomes an operation: the window holds twice the maximum
/// concurrency, and no more of one origin than may be asked of it at once. Next is the URL with
/// the highest priority; among equals an origin that answers before one that last did not, then the
/// one with the fewest requests in flight, so that one at the head of the manifest never starves
/// the others; then manifest order.
final class FetchQueue: @unchecked Sendable {
    // Unchecked because the state is variables; all of it belongs to the serial queue `feeder`.

    /// Limits of a run.
    struct Limits: Sendable {
        let concurrent: Int
        let perHost: Int
        let attempts: Int
        /// How long an interrupted run lets what is in flight finish.
        let grace: Duration
    }

    /// Planned fetches held in memory for all origins together.
    private static let readAhead = 16_384

    private let plan: Plan
    private let cache: Cache
    private let stage: FetchStage
    private let limits: Limits
    private let report: @Sendable ([FetchResult]) -> Void
    private let operations = OperationQueue()
    private let feeder = DispatchQueue(label: "larder.feeder")
    private let idle = DispatchSemaphore(value: 0)
    private let pageSize: Int
    private let perHost: Int

    private var cursors: [HostCursor] = []
    private var cursorNumbers: [String: Int] = [:]
    private var ready = Heap<ReadyHost>()
    private var versions: [Int] = []
    private var running = 0
    private var delayed = 0
    private var isStopping = false
    private var failure: (any Error)?

    /// - Parameter report: called with what became of fetches, batch by batch, never concurrently
    ///   with a commit of the store.
    init(
        plan: Plan, cache: Cache, stage: FetchStage, limits: Limits,
        report: @escaping @Sendable ([FetchResult]) -> Void
    ) throws {
        self.plan = plan
        self.cache = cache
        self.stage = stage
        self.limits = limits
        self.report = report
        operations.maxConcurrentOperationCount = limits.concurrent
        pageSize = max(1, min(64, Self.readAhead / max(1, plan.origins.count)))
        // Where there are several origins, one that does not answer must not hold every place. A
        // single place cannot be shared: it goes by priority alone.
        perHost =
            plan.origins.count > 1 && limits.concurrent > 1
            ? min(limits.perHost, limits.concurrent - 1) : limits.perHost
        let planned = Set(try plan.pendingOrigins())
        for (number, origin) in plan.origins.enumerated() {
            cursors.append(
                HostCursor(
                    origin: number, isPlanned: planned.contains(number), pageSize: pageSize))
            versions.append(0)
            cursorNumbers[origin] = number
        }
    }

    /// Fetches all that the plan wants; returns when everything is committed and reported.
    ///
    /// - Throws: what broke the cache or the plan; what was stored before is kept.
    func run() throws {
        feeder.async { [self] in
            for number in cursors.indices { announce(number) }
            feed()
        }
        // A commit may send fetches back (their object was evicted meanwhile): look again after it.
        repeat {
            idle.wait()
            stage.flush()
        } while !feeder.sync { isIdle }
        if let failure = feeder.sync(execute: { failure }) { throw failure }
    }

    /// Feeds nothing more, and gives what is in flight a moment to finish.
    func stop() {
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

    /// Takes the store's word on a batch.
    func committed(_ outcomes: [Store.Outcome]) {
        var results: [FetchResult] = []
        for outcome in outcomes {
            guard let (fetch, result) = stage.takeDeposited(outcome.token) else { continue }
            switch outcome.result {
            case .success:
                results.append(result)
            case .failure(let error) where error.code == .missing:
                let failure = FetchFailure(
                    code: "evicted", message: error.description, isTransient: true)
                feeder.async { [self] in retry(fetch, after: failure) }
            case .failure(let error):
                feeder.async { [self] in breakOff(error) }
            }
        }
        if !results.isEmpty { report(results) }
    }

    // MARK: - On the feeder's queue

    private var isIdle: Bool { running == 0 && delayed == 0 && (isStopping || ready.isEmpty) }

    private func feed() {
        while !isStopping, running < 2 * limits.concurrent, let next = ready.popMin() {
            guard next.version == versions[next.cursor] else { continue }
            do {
                guard let head = try cursors[next.cursor].head(from: plan) else { continue }
                cursors[next.cursor].removeHead()
                start(try fetch(head), cursor: next.cursor)
            } catch {
                breakOff(error)
            }
            announce(next.cursor)
        }
        // Entries of the heap that are out of date hide that nothing is left.
        while let next = ready.min, next.version != versions[next.cursor] { ready.removeMin() }
        if isIdle { idle.signal() }
    }

    private func fetch(_ head: HostCursor.Head) throws -> Fetch {
        switch head {
        case .returned(let fetch):
            return fetch
        case .planned(let planned):
            let known = planned.status == .stale ? try cache.resource(planned.key) : nil
            // A key's URL may have changed, and the validators are the old one's.
            return Fetch(
                planned, url: try HTTPURL(planned.url),
                known: known?.url == planned.url ? known : nil)
        }
    }

    private func start(_ fetch: Fetch, cursor: Int) {
        running += 1
        cursors[cursor].inFlight += 1
        operations.addOperation(
            FetchOperation(
                fetch, cursor: cursor, stage: stage,
                onTransferEnd: { [self] operation in
                    feeder.async { [self] in
                        cursors[operation.cursor].inFlight -= 1
                        announce(operation.cursor)
                        feed()
                    }
                },
                onEnd: { [self] operation, outcome in
                    feeder.async { [self] in
                        running -= 1
                        cursors[operation.cursor].isSilent = outcome.isSilence
                        settle(operation.fetch, outcome)
                        feed()
                    }
                }))
    }

    /// Puts an origin that can start a fetch in its place among the others.
    private func announce(_ number: Int) {
        versions[number] += 1
        guard cursors[number].inFlight < perHost else { return }
        do {
            guard let head = try cursors[number].head(from: plan) else { return }
            let planned =
                switch head {
                case .planned(let planned): planned
                case .returned(let fetch): fetch.planned
                }
            ready.insert(
                ReadyHost(
                    cursor: number, version: versions[number], priority: planned.priority,
                    isSilent: cursors[number].isSilent,
                    inFlight: cursors[number].inFlight, rank: planned.rank))
        } catch {
            breakOff(error)
        }
    }

    private func settle(_ fetch: Fetch, _ outcome: FetchOperation.Outcome) {
        switch outcome {
        case .deposited: break
        case .redirect(let location):
            switch fetch.redirected(to: location) {
            case .success(let next): put(back: next)
            case .failure(let failure): fail(fetch, failure)
            }
        case .failed(let failure): retry(fetch, after: failure)
        case .broken(let error): breakOff(error)
        }
    }

    private func retry(_ fetch: Fetch, after failure: FetchFailure) {
        // A fetch that an interruption ended is unfinished, not failed.
        if isStopping, failure.isTransient || failure.code == FetchFailure.Reason.cancelled.rawValue
        {
            return
        }
        guard failure.isTransient, fetch.attempt < limits.attempts,
            let url = try? HTTPURL(fetch.planned.url)
        else { return fail(fetch, failure) }
        let next = fetch.again(from: url, unconditionally: failure.code == "evicted")
        delayed += 1
        feeder.asyncAfter(deadline: .now() + next.backOff / .seconds(1)) { [self] in
            guard !isStopping else { return }
            delayed -= 1
            put(back: next)
            feed()
        }
    }

    private func put(back fetch: Fetch) {
        let number = cursorNumbers[fetch.url.origin] ?? cursors.count
        if number == cursors.count {
            cursorNumbers[fetch.url.origin] = number
            cursors.append(HostCursor(origin: number, isPlanned: false, pageSize: 1))
            versions.append(0)
        }
        cursors[number].put(back: fetch)
        announce(number)
    }

    private func fail(_ fetch: Fetch, _ failure: FetchFailure) {
        let result = FetchResult(
            id: fetch.planned.id, result: .failure(failure), expectations: [],
            attempts: fetch.attempt, seconds: fetch.elapsed)
        stage.afterCommits { [report] in report([result]) }
    }

    private func breakOff(_ error: any Error) {
        failure = failure ?? error
        stopFeeding()
        operations.cancelAllOperations()
    }

    private func stopFeeding() {
        isStopping = true
        // What waits for another attempt will not get it.
        delayed = 0
        if isIdle { idle.signal() }
    }
}

/// An origin that can start a fetch, in the order in which origins are to be served.
private struct ReadyHost: Comparable {
    let cursor: Int
    /// Out of date where the cursor has a newer one.
    let version: Int
    let priority: Int
    let isSilent: Bool
    let inFlight: Int
    let rank: Int64

    static func < (left: ReadyHost, right: ReadyHost) -> Bool {
        if left.priority != right.priority { return left.priority > right.priority }
        if left.isSilent != right.isSilent { return right.isSilent }
        if left.inFlight != right.inFlight { return left.inFlight < right.inFlight }
        return left.rank < right.rank
    }
}
