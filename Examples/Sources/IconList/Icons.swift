import Foundation
import LarderIcons

/// The app's loader, with a writable cache and a bundled one, which `larder snapshot` created.
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
