import Foundation
import LarderCache
import LarderCore

/// A read-only cache directory, for example in an app's bundle, from which another image library
/// can read icons (`Examples/Sources/NukeCache`).
///
/// It has the functions of Nuke's protocol `DataCaching`, whose key is the URL by default. They
/// block on the disk, so call them in the background, as Nuke does.
public final class BundledIcons: Sendable {
    private let layer: CacheLayer
    private let log: CacheLog

    /// Creates a reader of a directory that `larder snapshot` created. The first look-up opens the
    /// directory, which may be missing. `log` receives a message for each icon that cannot be read.
    public init(directory: URL, log: CacheLog = .none) {
        layer = CacheLayer(path: directory.path, source: .bundle, log: log)
        self.log = log
    }

    /// Returns the bytes of an icon, or nil if the icon is not cached or is damaged. The key is the
    /// icon's URL. Keys with `#` are never found, because image libraries append the names of image
    /// processors after `#`, and cached icons are unprocessed.
    public func cachedData(for key: String) -> Data? {
        resource(key).flatMap { resource in read(key) { try layer.data(of: resource.object) } }
    }

    /// Whether the icon with this URL is cached. Does not read its bytes.
    public func containsData(for key: String) -> Bool { resource(key) != nil }

    private func resource(_ key: String) -> Resource? {
        guard !key.utf8.contains(UInt8(ascii: "#")) else { return nil }
        return read(key) { try layer.resource(key) }
    }

    private func read<Value>(_ key: String, _ body: () throws -> Value?) -> Value? {
        do { return try body() } catch {
            log(.warning, "could not read \(key.maskingSecrets.sanitizedForTerminal): \(error)")
            return nil
        }
    }
}
