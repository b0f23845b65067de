import Foundation

/// Gets icons for views: memory → disk → network, each once for all who wait for it.
///
///     let loader = IconLoader(cache: icons, fetcher: URLSessionFetcher())
///     for await state in loader.states(for: app.icon, priority: .veryHigh) { show(state) }
///
/// Everything is by URL: a view that is used again for another row cancels its task, or compares
/// the URL. Every function may be called on any thread, the main one, too, and waits for nothing
/// but memory. If a loader is let go of, what is under way is cancelled, and whoever waits is told
/// so.
public final class IconLoader: Sendable {
    /// How icons are got.
    public struct Options: Sendable {
        /// So many are fetched at once. Default: 6.
        public var concurrentFetches = 6
        /// For so many seconds an icon that could not be fetched is not asked for again, or longer
        /// if its server says so, up to a day. 0: not at all. Default: 60.
        public var failureLifetime: TimeInterval = 60

        /// The defaults.
        public init() {}
    }

    /// Where icons are kept.
    public let cache: IconCache

    private let loads: Loads

    /// A loader.
    ///
    /// - Parameters:
    ///   - cache: where icons are looked for first, and kept.
    ///   - fetcher: gets what is not cached. Default: nil, nothing does.
    ///   - options: how icons are got.
    public convenience init(
        cache: IconCache, fetcher: (any IconFetcher)? = nil, options: Options = Options()
    ) {
        self.init(cache: cache, fetcher: fetcher, options: options) { Date() }
    }

    init(
        cache: IconCache, fetcher: (any IconFetcher)?, options: Options,
        now: @escaping @Sendable () -> Date
    ) {
        self.cache = cache
        loads = Loads(cache: cache, fetcher: fetcher, options: options, now: now)
    }

    deinit { loads.close() }

    /// What is known of the icon now, from memory alone. Begins nothing.
    public func state(for url: URL) -> IconState { loads.state(of: url.absoluteString) }

    /// Gets the icon, and tells what came of it: `image` or `failed`.
    ///
    /// - Parameters:
    ///   - url: of the icon.
    ///   - priority: what has the higher one is got first. Default: normal.
    ///   - then: called once, on any thread: within this call if memory has the answer. Not called
    ///     if the task is cancelled before.
    /// - Returns: a task to cancel, or to change the priority by.
    @discardableResult
    public func load(
        _ url: URL, priority: IconPriority = .normal,
        then: @escaping @Sendable (IconState) -> Void
    ) -> IconTask {
        let waiter = loads.join(url, priority, then: then)
        return IconTask(
            waiter == nil ? nil : loads, key: url.absoluteString, waiter: waiter ?? 0)
    }

    /// The states of the icon for a view. Cancelling the task that reads them ends the load.
    public func states(
        for url: URL, priority: IconPriority = .normal
    ) -> AsyncStream<IconState> {
        AsyncStream { states in
            if loads.mustWait(for: url.absoluteString) { states.yield(.placeholder(.disk)) }
            let task = load(url, priority: priority) { state in
                states.yield(state)
                states.finish()
            }
            states.onTermination = { _ in task.cancel() }
        }
    }

    /// The icon.
    ///
    /// - Throws: ``IconFailure``; `CancellationError` if the task is cancelled.
    public func icon(
        for url: URL, priority: IconPriority = .normal
    ) async throws -> MemoryCache.Entry {
        for await state in states(for: url, priority: priority) {
            switch state {
            case .image(let entry, _): return entry
            case .failed(let failure, _): throw failure
            case .placeholder: continue
            }
        }
        throw CancellationError()
    }

    /// Has icons ready in memory, at a low priority: for `UITableViewDataSourcePrefetching` and the
    /// like.
    public func prefetch(_ urls: [URL]) { loads.prefetch(urls) }

    /// Ends what ``prefetch(_:)`` has begun for these URLs, unless others wait for them.
    public func stopPrefetching(_ urls: [URL]) { loads.stopPrefetching(urls) }

    /// Makes failed icons be asked for again when they are next wanted, of one URL or, by default,
    /// all.
    public func forgetFailures(of url: URL? = nil) { loads.forgetFailures(url?.absoluteString) }

    /// How many icons are being got, or wait for that.
    public var loadCount: Int { loads.count }

    /// How many icons are being read, fetched or stored, those that nobody waits for included.
    package var workCount: Int { loads.workCount }
}

/// Where an icon, or the news that there is none, comes from.
public enum IconSource: Sendable {
    /// It was in memory.
    case memory
    /// The cache directory.
    case disk
    /// The cache that an app is shipped with.
    case bundle
    /// The icon's server.
    case network

    init(_ source: MemoryCache.Entry.Source) {
        switch source {
        case .disk: self = .disk
        case .bundle: self = .bundle
        case .network: self = .network
        }
    }
}

/// What a view can show for an icon.
public enum IconState: Sendable {
    /// Nothing yet: it is being looked for in that place. Nil if nobody has asked for it.
    case placeholder(IconSource?)
    /// The icon, and where it was found this time.
    case image(MemoryCache.Entry, from: IconSource)
    /// Why there is no icon, and who says so: `memory` of a failure that is remembered.
    case failed(IconFailure, from: IconSource)

    /// The icon; nil if there is none (yet).
    public var entry: MemoryCache.Entry? {
        if case .image(let entry, _) = self { entry } else { nil }
    }
}

/// One caller's interest in an icon, see ``IconLoader/load(_:priority:then:)``.
public final class IconTask: Sendable {
    private let loads: Loads?
    private let key: String
    private let waiter: Int

    init(_ loads: Loads?, key: String, waiter: Int) {
        self.loads = loads
        self.key = key
        self.waiter = waiter
    }

    /// Ends the interest. If nobody else waits for the icon, it is neither read nor fetched.
    public func cancel() { loads?.leave(key, waiter) }

    /// Changes the priority of this caller. An icon has the highest one of all its callers.
    public func setPriority(_ priority: IconPriority) {
        loads?.setPriority(priority, key, waiter)
    }
}
