import Foundation
import LarderIcons

#if canImport(Nuke)
    import Nuke
#endif

/// A disk cache for Nuke that also reads the icons in the app's bundle, without copies:
///
///     ImagePipeline.shared = ImagePipeline {
///         $0.dataCache = LarderDataCache(try? DataCache(name: "icons"), bundle: appIcons)
///     }
final class LarderDataCache: DataCaching {
    private let own: (any DataCaching)?
    private let bundled: BundledIcons

    /// - Parameter own: Nuke's cache. Its icons are newer, so they are used first.
    init(_ own: (any DataCaching)?, bundle: URL) {
        self.own = own
        bundled = BundledIcons(directory: bundle)
    }

    func cachedData(for key: String) -> Data? {
        own?.cachedData(for: key) ?? bundled.cachedData(for: key)
    }

    func containsData(for key: String) -> Bool {
        own?.containsData(for: key) == true || bundled.containsData(for: key)
    }

    func storeData(_ data: Data, for key: String) { own?.storeData(data, for: key) }
    func removeData(for key: String) { own?.removeData(for: key) }
    func removeAll() { own?.removeAll() }
}
