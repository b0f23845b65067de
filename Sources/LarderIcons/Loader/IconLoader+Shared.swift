import Foundation

extension IconLoader {
    /// The loader of the app and of its views.
    ///
    ///     let icon = try await IconLoader.shared.icon(for: url)
    ///
    /// Unless ``configure(_:)`` sets another loader, this one reads the cache directory `AppIcons`
    /// in the app's bundle and stores fetched icons in ``IconCache/defaultDirectory``. On Apple's
    /// platforms, it fetches with `URLSessionFetcher`. On Linux, it loads only cached icons.
    public static var shared: IconLoader { SharedLoader.app.loader }

    /// Makes `loader` the ``shared`` loader. Call this function once, when the app starts.
    ///
    /// - Throws: ``ConfigurationError`` if ``shared`` has been configured or used.
    public static func configure(_ loader: IconLoader) throws(ConfigurationError) {
        try SharedLoader.app.configure(loader)
    }

    /// An attempt to replace the ``shared`` loader.
    public struct ConfigurationError: Error, CustomStringConvertible {
        /// The kind of error.
        public enum Code: String, Sendable {
            /// ``IconLoader/configure(_:)`` was called before.
            case configured
            /// ``IconLoader/shared`` was used before, with the default loader.
            case used
        }

        /// The kind of error.
        public let code: Code

        /// The reason and the right use.
        public var description: String {
            switch code {
            case .configured:
                "IconLoader.shared is already configured; call IconLoader.configure only once"
            case .used:
                "IconLoader.shared is already in use; call IconLoader.configure before"
            }
        }
    }
}

/// A loader that does not change once it is configured or used.
final class SharedLoader: @unchecked Sendable {
    // Unchecked because `lock` guards the variables.

    static let app = SharedLoader()

    private let lock = NSLock()
    private var current: IconLoader?
    private var isConfigured = false

    var loader: IconLoader {
        lock.withLock {
            let loader = current ?? Self.makeDefault()
            current = loader
            return loader
        }
    }

    func configure(_ loader: IconLoader) throws(IconLoader.ConfigurationError) {
        let problem = lock.withLock { () -> IconLoader.ConfigurationError.Code? in
            guard current == nil else { return isConfigured ? .configured : .used }
            (current, isConfigured) = (loader, true)
            return nil
        }
        if let problem { throw IconLoader.ConfigurationError(code: problem) }
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
