import Foundation
import LarderIcons

/// The app's one loader: the cache that it is shipped with, made by `larder snapshot`, behind one
/// that it may write.
enum Icons {
    static let loader: IconLoader = {
        let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask)[0]
        let cache = IconCache(
            directory: caches.appendingPathComponent("icons"),
            bundle: Bundle.main.url(forResource: "icons", withExtension: nil))
        #if canImport(Darwin)
            return IconLoader(cache: cache, fetcher: URLSessionFetcher())
        #else
            return IconLoader(cache: cache)
        #endif
    }()
}
