import Foundation

/// Loads icons for views: memory → disk → network, each once for all callers.
///
///     let loader = IconLoader(cache: icons, fetcher: URLSessionFetcher())
///     for await state in loader.states(for: app.icon, priority: .veryHigh) { show(state) }
///
/// A view that is reused for another row cancels its task, or compares the URL. All functions can
/// be called on any thread, including the main one, and do not block. Releasing the loader cancels
/// all loads, and their callers receive a failure.
public final class IconLoader: Sendable {
    /// The settings of a loader.
    public struct Options: Sendable {
        /// Maximum number of concurrent fetches. Default: 6.
        public var concurrentFetches = 6
        /// Time until a failed icon is fetched again, in seconds, or longer if its server says so,
        /// up to a day. 0 means at once. Default: 60.
        public var failureLifetime: TimeInterval = 60

        /// The defaults.
        public init() {}
    }

    /// The icons in memory and on disk.
    public let cache: IconCache

    private let loads: Loads

    /// A loader that searches the cache first, and stores fetched icons in it. The default
    /// fetcher, nil, fetches none.
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

    /// Returns the icon's state from memory. Starts no load.
    public func state(for url: URL) -> IconState { loads.state(of: url.absoluteString) }

    /// Loads the icon. Returns a task that cancels the load or changes its priority. The default
    /// priority is normal.
    ///
    /// `then` is called once, with `image` or `failed`, on any thread; within this call if memory
    /// has the result. It is not called after the task is cancelled.
    @discardableResult
    public func load(
        _ url: URL, priority: IconPriority = .normal,
        then: @escaping @Sendable (IconState) -> Void
    ) -> IconTask {
        let waiter = loads.join(url, priority, then: then)
        return IconTask(waiter == nil ? nil : loads, key: url.absoluteString, waiter: waiter ?? 0)
    }

    /// Returns the icon's states for a view. Cancelling the task that reads them ends the load.
    public func states(for url: URL, priority: IconPriority = .normal) -> AsyncStream<IconState> {
        AsyncStream { states in
            if loads.mustWait(for: url.absoluteString) { states.yield(.placeholder(.disk)) }
            let task = load(url, priority: priority) { state in
                states.yield(state)
                states.finish()
            }
            states.onTermination = { _ in task.cancel() }
        }
    }

    /// Returns the icon.
    ///
    /// - Throws: ``IconFailure``, `CancellationError` if the task is cancelled.
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

    /// Loads icons into memory at a low priority, for example for
    /// `UITableViewDataSourcePrefetching`.
    public func prefetch(_ urls: [URL]) { loads.prefetch(urls) }

    /// Ends loads that ``prefetch(_:)`` has begun, unless other callers wait for them.
    public func stopPrefetching(_ urls: [URL]) { loads.stopPrefetching(urls) }

    /// Allows the next load to fetch failed icons again: that of one URL or, by default, all.
    public func forgetFailures(of url: URL? = nil) { loads.forgetFailures(url?.absoluteString) }

    /// The number of icons that are loading or waiting.
    public var loadCount: Int { loads.count }

    package var workCount: Int { loads.workCount }
}

/// The source of an icon or of a failure.
public enum IconSource: Sendable {
    case memory
    /// The cache directory.
    case disk
    /// The cache in an app's bundle.
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

/// The state of an icon in a view.
public enum IconState: Sendable {
    /// It is being loaded from that source. Nil if no load was started.
    case placeholder(IconSource?)
    /// The icon and its source.
    case image(MemoryCache.Entry, from: IconSource)
    /// The failure and its source: `memory` for a remembered one.
    case failed(IconFailure, from: IconSource)

    /// The icon, if it is loaded.
    public var entry: MemoryCache.Entry? {
        if case .image(let entry, _) = self { entry } else { nil }
    }
}

/// One caller's load of an icon, see ``IconLoader/load(_:priority:then:)``. Releasing it cancels
/// nothing.
public final class IconTask: Sendable {
    private let loads: Loads?
    private let key: String
    private let waiter: Int

    init(_ loads: Loads?, key: String, waiter: Int) {
        self.loads = loads
        self.key = key
        self.waiter = waiter
    }

    /// Cancels the load, unless other callers wait for the icon.
    public func cancel() { loads?.leave(key, waiter) }

    /// Changes the priority of this caller. The icon has the highest one of its callers.
    public func setPriority(_ priority: IconPriority) {
        loads?.setPriority(priority, key, waiter)
    }
}
