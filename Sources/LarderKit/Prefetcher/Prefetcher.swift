import Foundation
import LarderCache
import LarderTransfer
import Synchronization

/// Fills a cache from manifests: Manifest → Plan → Queue → Transfer → Store → Index → Report.
///
///     let prefetcher = Prefetcher(PrefetchConfiguration(cache: "cache"))
///     for try await event in prefetcher.prefetch([.file("apps.plist")]) {
///         if case .finished(let report) = event { print(report.count(.fetched)) }
///     }
public final class Prefetcher: Sendable {
    private let configuration: PrefetchConfiguration
    private let control = Mutex(Control())

    private struct Control {
        var isCancelled = false
        var queue: FetchQueue?
    }

    /// A prefetcher; nothing happens until its events are asked for.
    public init(_ configuration: PrefetchConfiguration) {
        self.configuration = configuration
    }

    /// The events of a run over `manifests`.
    ///
    /// All manifests are read before the first request. What fails for one entry is data in its
    /// ``EntryResult``; the sequence throws only if the run cannot begin.
    public func prefetch(_ manifests: [ManifestSource]) -> PrefetchEvents {
        PrefetchEvents { [self] in
            let channel = EventChannel()
            let thread = Thread { [self] in
                channel.finish(
                    Result { channel.send([.finished(try openAndRun(manifests, channel))]) })
            }
            thread.name = "larder.prefetch"
            thread.stackSize = 4 << 20
            thread.start()
            return (channel, { [self] in cancel() })
        }
    }

    /// Stops feeding, lets what is in flight finish for a moment, commits and reports. From any
    /// thread; a run that has not begun yet stops as soon as it has.
    public func cancel() {
        let queue = control.withLock { control in
            control.isCancelled = true
            return control.queue
        }
        queue?.stop()
    }

    private var isCancelled: Bool { control.withLock { $0.isCancelled } }

    /// Opens the cache and runs over it. Leaves word of an index that turns out to be damaged, so
    /// that whoever opens it next rebuilds it: this run itself if it is still planning.
    ///
    /// - Parameter isLastTry: whether the index was rebuilt by this run already.
    private func openAndRun(
        _ manifests: [ManifestSource], _ channel: EventChannel, isLastTry: Bool = false
    ) throws -> Report {
        guard let cache = try openCache() else { return .interrupted }
        defer { cache.close() }
        if let recovery = cache.recovery { channel.send([.recovered(recovery)]) }
        var isPlanned = false
        do {
            var report = try Plan.translatingErrors {
                try run(manifests, cache, channel, &isPlanned)
            }
            if let failure = report.failure, failure.code == .damaged {
                report.failure = cache.noteDamage(failure)
            }
            report.failure = report.failure?.located(inCacheAt: cache.path)
            return report
        } catch let error as CacheError where error.code == .damaged {
            let error = cache.noteDamage(error)
            guard error.code == .damaged, !isPlanned, !isLastTry,
                manifests.allSatisfy(\.canBeReadAgain)
            else { throw error }
            cache.close()
            return try openAndRun(manifests, channel, isLastTry: true)
        }
    }

    /// Nil if the run is cancelled while it waits for another process.
    private func openCache() throws -> Cache? {
        var wait = configuration.lockWait
        let isGivenUp = wait.isCancelled
        wait.isCancelled = { [self] in isCancelled || isGivenUp() }
        do {
            return try Cache.create(at: configuration.cache, wait: wait)
        } catch {
            guard error.code == .locked, isCancelled else { throw error }
            return nil
        }
    }

    private func run(
        _ manifests: [ManifestSource], _ cache: Cache, _ channel: EventChannel,
        _ isPlanned: inout Bool
    ) throws -> Report {
        let start = ContinuousClock.now
        let store = try cache.store()
        defer { store.close() }

        // Manifest → Plan
        let shelf = ManifestShelf(
            cache: cache, store: configuration.policy.isOffline ? nil : store,
            storesUnstorable: configuration.storesUnstorable, notesUse: true)
        let plan: Plan
        do {
            plan = try Plan(
                of: manifests.map { $0.kept(on: shelf, unless: { self.isCancelled }) },
                rules: configuration.manifestRules,
                cache: cache,
                acceptsAnyContent: configuration.acceptsAnyContent, policy: configuration.policy,
                headers: configuration.requestHeaders, at: store.scratchPath("plan.sqlite"),
                isCancelled: { self.isCancelled })
        } catch is CancellationError {
            return .interrupted
        }
        isPlanned = true
        channel.send([.planned(plan.summary)])
        let reporter = Reporter(
            plan: plan, channel: channel, namesSuccesses: configuration.namesSuccesses,
            isLocking: configuration.onLocked != nil)
        try reporter.reportSettled()
        try recordUse(of: plan, in: cache)
        try plan.releaseIndex()

        // What the manifests themselves hold goes straight to the store.
        let check = BodyCheck(
            plan: plan, store: store, acceptsAnyContent: configuration.acceptsAnyContent)
        let inline = InlineStage(
            plan: plan, store: store, reporter: reporter, check: check,
            isCancelled: { self.isCancelled })
        let inlineFailure = try inline.run()

        // Queue → Transfer → Store → Index
        let limits = limits(for: plan)
        let loop = try TransferLoop(configuration: transferConfiguration(limits))
        defer { loop.shutdown() }
        let stage = FetchStage(
            loop: loop, store: store, policy: configuration.fetchPolicy, check: check)
        let queue = try FetchQueue(plan: plan, cache: cache, stage: stage, limits: limits) {
            reporter.report($0)
        }
        let ticker = ProgressTicker(reporter: reporter, stage: stage, channel: channel)
        let failure = try inlineFailure ?? fetch(with: queue)
        ticker.stop()
        if failure == nil { recordSpellings(of: plan, in: cache) }

        // Report
        var report = try reporter.finish(
            failure: failure, isInterrupted: isCancelled, receivedBytes: stage.receivedBytes,
            seconds: (ContinuousClock.now - start) / .seconds(1))
        report.isLocked = try report.isComplete && lock(plan)
        return report
    }

    /// Tells whoever wants a lock what all entries came to.
    private func lock(_ plan: Plan) throws -> Bool {
        guard let onLocked = configuration.onLocked, plan.summary.leftAlone == 0 else {
            return false
        }
        try plan.forEachLocked(onLocked)
        return true
    }

    /// What is fresh is used by being wanted. A cache that cannot record it is still worth having:
    /// the run goes on, and ends with that error only if it has something to store.
    private func recordUse(of plan: Plan, in cache: Cache) throws {
        do {
            try plan.forEachUse { objects in
                if isCancelled { throw CancellationError() }
                try cache.recordUse(of: objects)
            }
        } catch is CacheError, is CancellationError {}
    }

    /// Records how the manifests spell what is cached by now. No run fails for it: the next one
    /// records what this one did not.
    private func recordSpellings(of plan: Plan, in cache: Cache) {
        try? plan.forEachSpelling { spellings in
            if isCancelled { throw CancellationError() }
            try cache.record(spellings)
        }
    }

    private func fetch(with queue: FetchQueue) throws -> CacheError? {
        let isCancelled = control.withLock { control in
            control.queue = queue
            return control.isCancelled
        }
        defer { control.withLock { $0.queue = nil } }
        if isCancelled { queue.stop() }
        do {
            try Plan.translatingErrors { try queue.run() }
            return nil
        } catch let error as CacheError {
            return error
        }
    }

    private func limits(for plan: Plan) -> FetchQueue.Limits {
        // If there are several origins, one that does not answer must not hold every place. A
        // single place cannot be shared: it goes by priority alone.
        let concurrent = configuration.maximumConcurrent
        let perHost =
            plan.origins.count > 1 && concurrent > 1
            ? min(configuration.maximumPerHost, concurrent - 1) : configuration.maximumPerHost
        return FetchQueue.Limits(
            concurrent: concurrent, perHost: perHost,
            ratePerHost: configuration.ratePerHost, retry: configuration.retry,
            allowsDowngrade: configuration.allowsDowngrade,
            remembersFailures: configuration.remembersFailures, grace: configuration.grace)
    }

    private func transferConfiguration(_ limits: FetchQueue.Limits) -> TransferConfiguration {
        var transfer = configuration.transfer
        transfer.maximumConnections = limits.concurrent
        transfer.maximumConnectionsPerHost = limits.perHost
        return transfer
    }
}
