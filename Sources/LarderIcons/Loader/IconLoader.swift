import Foundation
import LarderCache
import LarderCore

/// A loader that gets icons for views from memory, the disk or the network, in this order.
/// Concurrent calls for a URL share one load.
///
/// All functions can be called on any thread and do not block. Releasing the loader cancels all
/// loads, and their callers receive a failure.
///
/// Reads and fetches need slots, which are assigned by priority. A fetch keeps its slot while too
/// many icons wait to be stored, so that a slow disk slows down the network.
public final class IconLoader: @unchecked Sendable {
    // Unchecked because `lock` guards the variables.

    /// The settings of a loader.
    public struct Options: Sendable {
        /// The maximum number of concurrent fetches. Default: 6.
        public var concurrentFetches = 6
        /// The time until a failed icon may be fetched again, in seconds. A server can extend it to
        /// at most one day. With 0, failures are not remembered. Default: 60.
        public var failureLifetime: TimeInterval = 60

        /// Creates the default options.
        public init() {}
    }

    private typealias Effect = () -> Void

    private struct Lane {
        let slots: Int
        var taken = 0
        var waiting = TurnQueue()

        mutating func next() -> String? {
            guard taken < slots, let key = waiting.next() else { return nil }
            taken += 1
            return key
        }
    }

    /// The icons in memory and on disk.
    public let cache: IconCache
    private let fetcher: (any IconFetcher)?
    private let failureLifetime: TimeInterval
    private let now: @Sendable () -> Date
    private let lock = NSLock()
    private var loads: [String: Load] = [:]
    private var prefetched: [String: Int] = [:]
    private var failures = FailureMemory()
    private var lanes: [Load.Stage: Lane]
    private var serial = 0

    /// Creates a loader. Without a fetcher, only cached icons are loaded.
    public convenience init(
        cache: IconCache, fetcher: (any IconFetcher)? = nil, options: Options = Options()
    ) { self.init(cache: cache, fetcher: fetcher, options: options) { Date() } }

    init(
        cache: IconCache, fetcher: (any IconFetcher)?, options: Options,
        now: @escaping @Sendable () -> Date
    ) {
        (self.cache, self.fetcher, self.now) = (cache, fetcher, now)
        failureLifetime = options.failureLifetime
        let fetches = Lane(slots: max(1, options.concurrentFetches))
        lanes = [.reading: Lane(slots: IconCache.maximumReads), .fetching: fetches]
    }

    deinit {
        withEffects { effects in
            lanes = [:]
            for (key, load) in loads {
                let failure = IconFailure(.cancelled, url: load.url, "the loader was released")
                finish(key, .failed(failure, from: .memory), &effects)
                if let task = load.task { effects.append { task.cancel() } }
            }
        }
    }

    /// The number of icons that are loading or waiting.
    public var loadCount: Int { lock.withLock { loads.count } }

    /// The number of reads, fetches and stores in progress, including cancelled ones.
    package var workCount: Int { lock.withLock { lanes.values.reduce(0) { $0 + $1.taken } } }

    /// Returns the icon's state from memory. Does not start a load.
    public func state(for url: URL) -> IconState {
        let key = url.absoluteString
        if let entry = cache.memory.entry(for: key) { return .image(entry, from: .memory) }
        return lock.withLock {
            if let failure = failures.failure(of: key, at: now()) {
                return .failed(failure, from: .memory)
            }
            return .placeholder(loads[key].map { $0.stage == .reading ? .disk : .network })
        }
    }

    /// Loads the icon. Calls `then` once, on any thread, with `image` or `failed`, unless the task
    /// is cancelled first. If the result is in memory, calls `then` before returning.
    @discardableResult public func load(
        _ url: URL, priority: IconPriority = .normal,
        then: @escaping @Sendable (IconState) -> Void
    ) -> IconTask {
        let key = url.absoluteString
        if let entry = cache.memory.entry(for: key) {
            then(.image(entry, from: .memory))
            return IconTask(nil, key: key, waiter: 0)
        }
        let waiter = withEffects { effects -> Int? in
            if let failure = failures.failure(of: key, at: now()) {
                effects.append { then(.failed(failure, from: .memory)) }
                return nil
            }
            return add(Load.Waiter(priority: priority, then: then), key, url, &effects)
        }
        return IconTask(waiter == nil ? nil : self, key: key, waiter: waiter ?? 0)
    }

    /// Loads the icon and returns a stream of its states, which ends with `image` or `failed`.
    /// Cancelling the task that reads the stream cancels the load.
    public func states(for url: URL, priority: IconPriority = .normal) -> AsyncStream<IconState> {
        AsyncStream { states in
            let key = url.absoluteString
            // A look-up would count a miss.
            let isInMemory =
                cache.memory.contains(key)
                || lock.withLock { failures.failure(of: key, at: now()) != nil }
            if !isInMemory { states.yield(.placeholder(.disk)) }
            let task = load(url, priority: priority) { state in
                states.yield(state)
                states.finish()
            }
            states.onTermination = { _ in task.cancel() }
        }
    }

    /// Loads the icon. Throws ``IconFailure``, or `CancellationError` if the task is cancelled.
    public func icon(
        for url: URL, priority: IconPriority = .normal
    ) async throws -> MemoryCache.Entry {
        for await state in states(for: url, priority: priority) {
            if case .failed(let failure, _) = state { throw failure }
            if let entry = state.entry { return entry }
        }
        throw CancellationError()
    }

    /// Loads icons into memory at a low priority, for `UITableViewDataSourcePrefetching`.
    public func prefetch(_ urls: [URL]) {
        let missing = urls.filter { !cache.memory.contains($0.absoluteString) }
        withEffects { effects in
            for url in missing {
                let key = url.absoluteString
                guard prefetched[key] == nil, failures.failure(of: key, at: now()) == nil else {
                    continue
                }
                prefetched[key] = add(Load.Waiter(priority: .low, then: nil), key, url, &effects)
            }
        }
    }

    /// Cancels loads that ``prefetch(_:)`` started, unless other callers wait for them.
    public func stopPrefetching(_ urls: [URL]) {
        withEffects { effects in
            for url in urls {
                let key = url.absoluteString
                guard let waiter = prefetched.removeValue(forKey: key) else { continue }
                remove(waiter, key, &effects)
            }
        }
    }

    /// Forgets the failure of one URL, or by default of all URLs.
    public func forgetFailures(of url: URL? = nil) {
        lock.withLock { failures.forget(url?.absoluteString) }
    }

    func leave(_ key: String, _ waiter: Int) { withEffects { remove(waiter, key, &$0) } }

    func setPriority(_ priority: IconPriority, _ key: String, _ waiter: Int) {
        withEffects { effects in
            guard loads[key]?.waiters[waiter] != nil else { return }
            loads[key]?.waiters[waiter]?.priority = priority
            reorder(key, &effects)
        }
    }

    /// Runs `body` with the lock held, then the effects without it, because they call the app's
    /// functions. Functions with a parameter `effects` require the lock.
    @discardableResult private func withEffects<Value>(_ body: (inout [Effect]) -> Value) -> Value {
        var effects: [Effect] = []
        let value = lock.withLock {
            let value = body(&effects)
            advance()
            return value
        }
        effects.forEach { $0() }
        return value
    }

    private func add(
        _ waiter: Load.Waiter, _ key: String, _ url: URL, _ effects: inout [Effect]
    ) -> Int {
        serial += 1
        let number = serial
        if loads[key] == nil {
            loads[key] = Load(url: url, serial: number)
        } else {
            effects.append { [log = cache.log] in log(.debug, "joined the load of \(url.masked)") }
        }
        loads[key]?.waiters[number] = waiter
        reorder(key, &effects)
        return number
    }

    private func remove(_ waiter: Int, _ key: String, _ effects: inout [Effect]) {
        guard loads[key]?.waiters.removeValue(forKey: waiter) != nil, let load = loads[key]
        else { return }
        guard load.waiters.isEmpty else { return reorder(key, &effects) }
        loads[key] = nil
        lanes[load.stage]?.waiting.remove(key)
        // The slot is released when the work has ended.
        if let task = load.task { effects.append { task.cancel() } }
    }

    private func reorder(_ key: String, _ effects: inout [Effect]) {
        guard let load = loads[key] else { return }
        let priority = load.priority
        if let request = load.request, request.change(to: priority) {
            effects.append { request.notify() }
        }
        if load.task == nil { lanes[load.stage]?.waiting.insert(key, priority) }
    }

    private func advance() {
        // Each waiting key has a load.
        while let key = lanes[.reading]?.next(), let load = loads[key] {
            loads[key]?.task = Task(priority: .userInitiated) { [cache, weak self] in
                do {
                    let entry = try await cache.entry(onDiskFor: load.url)
                    self?.readEnded(key, load.serial, entry, nil)
                } catch {
                    self?.readEnded(key, load.serial, nil, error)
                }
            }
        }
        while let fetcher, let key = lanes[.fetching]?.next(), let load = loads[key] {
            let request = IconRequest(url: load.url, priority: load.priority)
            loads[key]?.request = request
            loads[key]?.task = Task(priority: .userInitiated) { [cache, weak self] in
                do {
                    // Since the disk was read, a cancelled load may have fetched the icon.
                    if let entry = cache.entry(keptFor: load.url) {
                        self?.settle(key, load.serial, .image(entry, from: .memory))
                    } else {
                        cache.log(.debug, "fetching \(load.url.masked)")
                        let icon = try await fetcher.fetch(request)
                        cache.log(.debug, "fetched \(load.url.masked): \(icon.data.count) bytes")
                        let (entry, isStored) = cache.keep(
                            icon, for: load.url, isReplacing: load.isDamaged)
                        self?.settle(key, load.serial, .image(entry, from: .network))
                        if isStored { await cache.waitUntilStorable() }
                    }
                } catch {
                    let known = error as? IconFailure
                    // The text of other errors may contain the URL with its secrets.
                    let reason = known?.message ?? "\(type(of: error))"
                    cache.log(.info, "could not fetch \(load.url.masked): \(reason)")
                    let failure =
                        known
                        ?? IconFailure(.fetch, url: load.url, "\(error)", underlying: error)
                    // A fetcher's own cancellation is not remembered as the icon's failure.
                    let isRemembered = !(error is CancellationError)
                    self?.settle(
                        key, load.serial, .failed(failure, from: .network),
                        isRemembered: isRemembered)
                }
                self?.fetchEnded()
            }
        }
    }

    private func readEnded(
        _ key: String, _ serial: Int, _ entry: MemoryCache.Entry?, _ error: (any Error)?
    ) {
        withEffects { effects in
            lanes[.reading]?.taken -= 1
            guard let load = loads[key], load.serial == serial else { return }
            if let entry {
                return finish(key, .image(entry, from: IconSource(entry.source)), &effects)
            }
            guard fetcher == nil else {
                loads[key]?.stage = .fetching
                loads[key]?.task = nil
                loads[key]?.isDamaged = (error as? CacheError)?.isOfDamagedObject ?? false
                return reorder(key, &effects)
            }
            let failure =
                error.map { IconFailure(.unreadable, url: load.url, "\($0)", underlying: $0) }
                ?? IconFailure(.notCached, url: load.url, "is not cached")
            finish(key, .failed(failure, from: .disk), &effects)
        }
    }

    private func settle(
        _ key: String, _ serial: Int, _ state: IconState, isRemembered: Bool = false
    ) {
        withEffects { effects in
            guard loads[key]?.serial == serial else { return }
            if isRemembered, case .failed(let failure, _) = state {
                failures.remember(failure, of: key, for: failureLifetime, at: now())
            }
            finish(key, state, &effects)
        }
    }

    private func fetchEnded() { withEffects { _ in lanes[.fetching]?.taken -= 1 } }

    private func finish(_ key: String, _ state: IconState, _ effects: inout [Effect]) {
        prefetched[key] = nil
        for waiter in loads.removeValue(forKey: key)?.waiters.values ?? [:].values {
            if let then = waiter.then { effects.append { then(state) } }
        }
    }
}

extension URL {
    fileprivate var masked: String { absoluteString.maskingSecrets.sanitizedForTerminal }
}
