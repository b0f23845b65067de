import Foundation

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
