import Foundation

/// A loader that gets icons for views from memory, the disk or the network, in this order.
/// Concurrent calls for a URL share one load.
///
///     let loader = IconLoader(cache: icons, fetcher: URLSessionFetcher())
///     for await state in loader.states(for: app.icon, priority: .veryHigh) { show(state) }
///
/// If a view is reused for another row, cancel its task or compare the URL. All functions can be
/// called on any thread and do not block. Releasing the loader cancels all loads, and their callers
/// receive a failure.
public final class IconLoader: Sendable {
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

    /// The icons in memory and on disk.
    public let cache: IconCache

    private let loads: Loads

    /// Creates a loader. Without a fetcher, only cached icons are loaded.
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

    /// Returns the icon's state from memory. Does not start a load.
    public func state(for url: URL) -> IconState { loads.state(of: url.absoluteString) }

    /// Loads the icon. Returns a task that can cancel the load or change its priority.
    ///
    /// Calls `then` once, on any thread, with `image` or `failed`, unless the task is cancelled
    /// first. If the result is in memory, calls `then` before returning.
    @discardableResult
    public func load(
        _ url: URL, priority: IconPriority = .normal,
        then: @escaping @Sendable (IconState) -> Void
    ) -> IconTask {
        let waiter = loads.join(url, priority, then: then)
        return IconTask(waiter == nil ? nil : loads, key: url.absoluteString, waiter: waiter ?? 0)
    }

    /// Loads the icon and returns a stream of its states, which ends with `image` or `failed`.
    /// Cancelling the task that reads the stream cancels the load.
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

    /// Loads the icon.
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

    /// Cancels loads that ``prefetch(_:)`` started, unless other callers wait for them.
    public func stopPrefetching(_ urls: [URL]) { loads.stopPrefetching(urls) }

    /// Forgets the failure of one URL, or by default of all URLs.
    public func forgetFailures(of url: URL? = nil) { loads.forgetFailures(url?.absoluteString) }

    /// The number of icons that are loading or waiting.
    public var loadCount: Int { loads.count }

    package var workCount: Int { loads.workCount }
}

/// The source of an icon or of a failure.
public enum IconSource: Sendable {
    /// The memory cache, or a remembered failure.
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
    /// The icon is loading from this source. If nil, it is not loading.
    case placeholder(IconSource?)
    /// The icon is loaded.
    case image(MemoryCache.Entry, from: IconSource)
    /// The load failed. The source of a remembered failure is `memory`.
    case failed(IconFailure, from: IconSource)

    /// The icon, or nil if it is not loaded.
    public var entry: MemoryCache.Entry? {
        if case .image(let entry, _) = self { entry } else { nil }
    }
}

/// One caller's load of an icon. Releasing the task does not cancel the load.
public final class IconTask: Sendable {
    private let loads: Loads?
    private let key: String
    private let waiter: Int

    init(_ loads: Loads?, key: String, waiter: Int) {
        (self.loads, self.key, self.waiter) = (loads, key, waiter)
    }

    /// Cancels the load, unless other callers wait for the icon.
    public func cancel() { loads?.leave(key, waiter) }

    /// Changes this caller's priority. A load has the highest priority of its callers.
    public func setPriority(_ priority: IconPriority) { loads?.setPriority(priority, key, waiter) }
}

extension IconLoader {
    /// The loader of the app and of its views.
    ///
    ///     let icon = try await IconLoader.shared.icon(for: url)
    ///
    /// Unless ``configure(_:)`` sets a different loader, this one reads the cache directory
    /// `AppIcons` in the app's bundle and stores fetched icons in ``IconCache/defaultDirectory``.
    /// On Apple's platforms, it fetches with `URLSessionFetcher`. On Linux, it loads only cached
    /// icons.
    public static var shared: IconLoader { SharedLoader.app.loader }

    /// Makes `loader` the ``shared`` loader. Call this function once, when the app starts.
    ///
    /// - Throws: ``ConfigurationError`` if ``shared`` has been configured or used.
    public static func configure(_ loader: IconLoader) throws(ConfigurationError) {
        try SharedLoader.app.configure(loader)
    }

    /// The reason why the ``shared`` loader cannot be replaced.
    public enum ConfigurationError: String, Error, CustomStringConvertible {
        /// ``IconLoader/configure(_:)`` was called before.
        case configured
        /// ``IconLoader/shared`` was used before, with the default loader.
        case used

        /// The reason and the right use.
        public var description: String {
            switch self {
            case .configured:
                "IconLoader.shared is already configured; call IconLoader.configure only once"
            case .used:
                "IconLoader.shared is already in use; call IconLoader.configure before"
            }
        }
    }
}

final class SharedLoader: @unchecked Sendable {
    // Unchecked because `lock` guards the variables.

    static let app = SharedLoader()

    private let lock = NSLock()
    private var current: (loader: IconLoader, refusal: IconLoader.ConfigurationError)?

    var loader: IconLoader {
        lock.withLock {
            let now = current ?? (Self.makeDefault(), .used)
            current = now
            return now.loader
        }
    }

    func configure(_ loader: IconLoader) throws(IconLoader.ConfigurationError) {
        let refusal = lock.withLock {
            defer { current = current ?? (loader, .configured) }
            return current?.refusal
        }
        if let refusal { throw refusal }
    }

    private static func makeDefault() -> IconLoader {
        let cache = IconCache(
            directory: IconCache.defaultDirectory,
            bundle: Bundle.main.url(forResource: "AppIcons", withExtension: nil))
        #if canImport(Darwin)
            return IconLoader(cache: cache, fetcher: URLSessionFetcher())
        #else
            return IconLoader(cache: cache)
        #endif
    }
}
