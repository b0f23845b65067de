@preconcurrency import Dispatch
import Foundation
import LarderCache
import LarderHTTP
import LarderManifest
import Logging
import Synchronization

/// A run that fills a cache from manifests.
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
        /// Whether the run ends early, because it fills a remote that has failed.
        var isGivenUp = false
        var queue: FetchQueue?
        var remoteStage: RemoteStage?
    }

    /// Creates a prefetcher. Installs libcurl's conversion of international host names
    /// (`CurlHosts`), unless the process has installed a conversion.
    public init(_ configuration: PrefetchConfiguration) {
        CurlHosts.install()
        self.configuration = configuration
    }

    /// Returns the events of a run, which starts when the sequence is iterated. All manifests are
    /// read before the first icon is requested. The sequence throws only if the run cannot start.
    public func prefetch(_ manifests: [ManifestSource]) -> PrefetchEvents {
        prefetch(manifests) {}
    }

    /// Calls `onPlanned` before the first icon is requested, on the thread of the run.
    package func prefetch(
        _ manifests: [ManifestSource], onPlanned: @escaping @Sendable () -> Void
    ) -> PrefetchEvents {
        PrefetchEvents(cancel: { [self] in cancel() }) { [self] in
            let channel = EventChannel(capacity: 1024)
            let hasThread = HelperThread.start(stackSize: 4 << 20) { [self] in
                channel.finish(
                    Result {
                        channel.send([.finished(try openAndRun(manifests, channel, onPlanned))])
                    })
            }
            if !hasThread { channel.finish(.failure(HelperThread.shortage)) }
            return channel
        }
    }

    /// Stops the run. It starts no further requests, cancels those in flight after
    /// ``PrefetchConfiguration/grace``, commits and reports results. Can be called before the run.
    public func cancel() {
        let (queue, remoteStage) = control.withLock { control in
            control.isCancelled = true
            return (control.queue, control.remoteStage)
        }
        remoteStage?.stop()
        queue?.stop()
    }

    private var isCancelled: Bool { control.withLock { $0.isCancelled } }

    /// Records damage to the index, so that the next command rebuilds it. If planning finds the
    /// damage, starts over once.
    private func openAndRun(
        _ manifests: [ManifestSource], _ channel: EventChannel,
        _ onPlanned: @Sendable () -> Void, isLastTry: Bool = false
    ) throws -> Report {
        guard let cache = try openCache() else { return .interrupted }
        defer { cache.close() }
        if let recovery = cache.recovery { channel.send([.recovered(recovery)]) }
        var isPlanned = false
        do {
            var report = try CacheError.naming("the plan") {
                try run(manifests, cache, channel) {
                    isPlanned = true
                    onPlanned()
                }
            }
            report.failure = report.failure.map(cache.noteDamage)?.located(inCacheAt: cache.path)
            return report
        } catch let error as CacheError {
            let error = cache.noteDamage(error)
            guard error.code == .damaged, !isPlanned, !isLastTry,
                manifests.allSatisfy(\.canBeReadAgain)
            else { throw error }
            cache.close()
            return try openAndRun(manifests, channel, onPlanned, isLastTry: true)
        }
    }

    /// Returns nil if the run is cancelled while another process has the lock.
    private func openCache() throws -> Cache? {
        var wait = configuration.lockWait
        let isWaitCancelled = wait.isCancelled
        wait.isCancelled = { [self] in isCancelled || isWaitCancelled() }
        let (path, log) = (configuration.cache, CacheLog(configuration.logger))
        // Even an offline run may store icons from a remote.
        let mayBeReadOnly = configuration.policy.isOffline && configuration.remote == nil
        do {
            return try mayBeReadOnly && Cache.isUnwritable(at: path)
                ? Cache.open(at: path, wait: wait, log: log)
                : Cache.create(at: path, wait: wait, log: log)
        } catch {
            guard error.code == .locked, isCancelled else { throw error }
            return nil
        }
    }

    private func run(
        _ manifests: [ManifestSource], _ cache: Cache, _ channel: EventChannel,
        onPlanned: () -> Void
    ) throws -> Report {
        let start = ContinuousClock.now
        let store = try cache.isReadOnly ? nil : cache.store()
        defer { store?.close() }
        guard let plan = try plan(manifests, cache, store, channel) else { return .interrupted }
        let summary = plan.summary
        // A read-only cache is opened only for an offline run, whose plan has nothing to store.
        let needsFetch = summary.missing + summary.stale > 0 || configuration.remote != nil
        if needsFetch { try HelperThread.require() }
        onPlanned()
        channel.send([.planned(summary)])
        let reporter = Reporter(
            plan: plan, channel: channel, namesSuccesses: configuration.namesSuccesses,
            isLocking: configuration.onLocked != nil)
        try reporter.reportSettled()
        // The run can succeed without these records.
        try? plan.forEachUse { objects in
            if isCancelled { throw CancellationError() }
            try cache.recordUse(of: objects)
        }
        try plan.releaseIndex()

        var fetched: Fetched = (nil, 0, nil)
        if let store, needsFetch { fetched = try fetch(plan, cache, store, reporter, channel) }
        if store != nil, fetched.failure == nil {
            try? plan.forEachSpelling { spellings in
                if isCancelled { throw CancellationError() }
                try cache.record(spellings)
            }
        }
        var report = try reporter.finish(after: fetched.failure)
        (report.isInterrupted, report.receivedBytes) = (isCancelled, fetched.receivedBytes)
        report.seconds = (ContinuousClock.now - start) / .seconds(1)
        report.remote = fetched.remote
        if let onLocked = configuration.onLocked, report.isComplete,
            summary.leftAlone == 0, summary.otherShards == 0
        {
            try plan.forEachLocked(onLocked)
            report.isLocked = true
        }
        return report
    }

    /// Returns nil if the run is cancelled.
    private func plan(
        _ manifests: [ManifestSource], _ cache: Cache, _ store: Store?, _ channel: EventChannel
    ) throws -> Plan? {
        let open: ManifestSource.Opener = { [configuration] url in
            try DownloadedManifest(
                url: url, transfer: configuration.loggedTransfer, retry: configuration.retry,
                headers: configuration.headers, allowsDowngrade: configuration.allowsDowngrade,
                storesUnstorable: configuration.storesUnstorable,
                maximumBytes: configuration.manifestRules.limits.maximumUnpackedSize, cache: cache,
                store: configuration.policy.isOffline ? nil : store,
                isCancelled: { self.isCancelled }
            ).download()
        }
        do {
            let plan = try Plan(
                of: manifests.map { $0.opened(by: open) },
                by: Planner(configuration, cache: cache),
                at: store?.scratchPath("plan.sqlite"), isCancelled: { self.isCancelled },
                onProgress: { channel.offer(.planning($0)) })
            configuration.logger?.info(
                "manifests planned",
                metadata: [
                    "resources": "\(plan.summary.urls)", "missing": "\(plan.summary.missing)",
                    "stale": "\(plan.summary.stale)",
                ])
            return plan
        } catch is CancellationError {
            return nil
        }
    }

    private typealias Fetched = (failure: CacheError?, receivedBytes: Int64, remote: RemoteReport?)

    private func fetch(
        _ plan: Plan, _ cache: Cache, _ store: Store, _ reporter: Reporter, _ channel: EventChannel
    ) throws -> Fetched {
        let check = BodyCheck(
            plan: plan, store: store, acceptsAnyContent: configuration.acceptsAnyContent)
        let inlineFailure = try InlineStage(reporter, check).run { self.isCancelled }

        let remoteStage = try remoteStage(cache, reporter, check, channel)
        defer {
            // The stage retains the cache, which retains this prefetcher (`openCache()`).
            control.withLock { $0.remoteStage = nil }
            remoteStage?.close()
        }
        let pullFailure = try inlineFailure ?? remoteStage?.pull()

        var transfer = configuration.loggedTransfer
        transfer.maximumConnections = configuration.maximumConcurrent
        // The schedule enforces the limit. libcurl counts all hosts behind a proxy as one.
        transfer.maximumConnectionsPerHost = 1_000_000
        let loop = try TransferLoop(configuration: transfer)
        defer { loop.shutdown() }
        let stage = OperationContext(
            loop: loop, policy: configuration.requestPolicy, check: check,
            logger: configuration.logger)
        let (perHost, slots) = (configuration.maximumPerHost, configuration.maximumConcurrent)
        // A silent origin must not occupy every slot.
        let most = plan.origins.count > 1 && slots > 1 ? min(perHost, slots - 1) : perHost
        let queue = try FetchQueue(
            plan: plan, cache: cache, stage: stage, slots: slots,
            hosts: HostLimits(
                perHost: perHost, most: most, ratePerHost: configuration.ratePerHost,
                shard: configuration.shard),
            retry: configuration.retry, grace: configuration.grace,
            remembersFailures: configuration.remembersFailures
        ) { results in
            reporter.report(results)
            remoteStage?.pushStage?.add(results)
        }
        let timer = startTimer(sendingProgressOf: queue, reporter, channel)
        defer { timer.cancel() }
        let failure = try pullFailure ?? run(queue)
        try remoteStage?.finish(after: failure)
        return (failure, stage.receivedBytes.load(ordering: .relaxed), remoteStage?.report)
    }

    private func remoteStage(
        _ cache: Cache, _ reporter: Reporter, _ check: BodyCheck, _ channel: EventChannel
    ) throws -> RemoteStage? {
        guard let remote = configuration.remote else { return nil }
        let transfer = configuration.loggedTransfer
        let storage = try remote.open(transfer)
        let tally = RemoteTally(storage.subject(nil), logger: transfer.logger) { [weak self] in
            guard remote.use == .fill else { return }
            self?.control.withLock { control in
                control.isGivenUp = true
                return control.queue
            }?.stop()
        }
        let remoteStage = RemoteStage(
            RemoteContext(
                policy: configuration.policy,
                maximumObjectBytes: configuration.maximumObjectBytes, grace: configuration.grace,
                headers: configuration.requestHeaders, remote: remote,
                remoteStore: RemoteStore(storage, maximumListed: remote.maximumListed),
                tally: tally, cache: cache, reporter: reporter, check: check, channel: channel))
        let isCancelled = control.withLock { control in
            control.remoteStage = remoteStage
            return control.isCancelled
        }
        if isCancelled { remoteStage.stop() }
        return remoteStage
    }

    private func run(_ queue: FetchQueue) throws -> CacheError? {
        let isCancelled = control.withLock { control in
            control.queue = queue
            return control.isCancelled || control.isGivenUp
        }
        defer { control.withLock { $0.queue = nil } }
        if isCancelled { queue.stop() }
        do {
            try CacheError.naming("the plan") { try queue.run() }
            return nil
        } catch let error as CacheError {
            return error
        }
    }

    private func startTimer(
        sendingProgressOf queue: FetchQueue, _ reporter: Reporter, _ channel: EventChannel
    ) -> any DispatchSourceTimer {
        let (start, before) = (ContinuousClock.now, reporter.progress.done)
        let send: @Sendable (Progress) -> Void = { sample in
            let settled = reporter.progress
            var progress = sample
            (progress.total, progress.failed) = (settled.total, settled.failed)
            progress.done = settled.done
            progress.arrived = max(before + sample.arrived, settled.done)
            progress.seconds = (ContinuousClock.now - start) / .seconds(1)
            channel.offer(.progress(progress))
        }
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "larder.progress"))
        timer.schedule(deadline: .now() + 0.1, repeating: 0.2)
        timer.setEventHandler { queue.sample(send) }
        timer.resume()
        return timer
    }
}
