import Foundation

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
public final class IconTask: @unchecked Sendable {
    // Unchecked because only `init` sets `loader`. Weak, so that releasing the loader ends loads.
    private weak var loader: IconLoader?
    private let key: String
    private let waiter: Int

    init(_ loader: IconLoader?, key: String, waiter: Int) {
        (self.loader, self.key, self.waiter) = (loader, key, waiter)
    }

    /// Cancels the load, unless other callers wait for the icon.
    public func cancel() { loader?.leave(key, waiter) }

    /// Changes this caller's priority. A load has the highest priority of its callers.
    public func setPriority(_ priority: IconPriority) { loader?.setPriority(priority, key, waiter) }
}

extension IconLoader {
    /// The loader of the app and of its views.
    ///
    /// By default, it reads the cache directory `AppIcons` in the app's bundle and stores fetched
    /// icons in ``IconCache/defaultDirectory``. It fetches only on Apple's platforms.
    public static var shared: IconLoader { SharedLoader.app.loader }

    /// Makes `loader` the ``shared`` loader. Call this function once, when the app starts. Throws
    /// ``ConfigurationError`` if ``shared`` has been configured or used.
    public static func configure(_ loader: IconLoader) throws(ConfigurationError) {
        try SharedLoader.app.configure(loader)
    }

    /// The reason why the ``shared`` loader cannot be replaced.
    public enum ConfigurationError: String, Error, CustomStringConvertible {
        /// ``IconLoader/configure(_:)`` was called before.
        case configured
        /// ``IconLoader/shared`` was used before, with the default loader.
        case used

        /// The reason for the error, and the call that avoids it.
        public var description: String {
            switch self {
            case .configured:
                "IconLoader.shared is already configured; call IconLoader.configure only once"
            case .used:
                "IconLoader.shared is already in use; call IconLoader.configure before using it"
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

struct Load {
    enum Stage { case reading, fetching }

    struct Waiter {
        var priority: IconPriority
        let then: (@Sendable (IconState) -> Void)?
    }

    let url: URL
    /// A number that is unique even among loads of the same URL.
    let serial: Int
    var stage = Stage.reading
    var waiters: [Int: Waiter] = [:]
    var task: Task<Void, Never>?
    var isDamaged = false
    var request: IconRequest?

    var priority: IconPriority { waiters.values.map(\.priority).max() ?? .veryLow }
}
