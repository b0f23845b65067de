import Foundation
import LarderCache
import LarderCore
import LarderTestSupport
import LarderTesting

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A cache in a temporary directory, with the content that a prefetch would store.
struct OfflineCache: Sendable {
    let directory: TemporaryDirectory
    let url: URL

    /// - Parameter icons: The bytes by URL, or by the key of a resource.
    init(_ directory: TemporaryDirectory, name: String = "cache", _ icons: [String: [UInt8]]) throws
    {
        self.directory = directory
        url = URL(fileURLWithPath: directory.path(name), isDirectory: true)
        let cache = try Cache.create(at: url.path)
        let store = try cache.store()
        for (key, bytes) in icons {
            let body = try store.newBody { append in try bytes.withUnsafeBytes(append) }
            let staged = try store.stage(
                body, digest: body.finish(), attributes: ObjectAttributes(mediaType: "image/png"))
            store.add(
                Deposit(key: key, url: key, receivedAt: Date(), content: .staged(staged)), for: nil
            ) {}
        }
        store.flush()
        store.close()
        cache.close()
    }

    /// Writes a manifest and returns its URL.
    func write(_ text: String, to name: String = "icons.lock.json") throws -> URL {
        let file = URL(fileURLWithPath: directory.path(name))
        try Data(text.utf8).write(to: file)
        return file
    }
}

/// Runs `body` with a cache of `icons`, and removes the cache afterwards.
func withCache(
    _ icons: [String: [UInt8]], _ body: (OfflineCache) async throws -> Void
) async throws {
    try await withTemporaryDirectory { try await body(OfflineCache($0, icons)) }
}

extension OfflineIcons {
    /// Returns the bytes of the answer to a request with a new session.
    func data(_ url: String) async throws -> [UInt8] {
        try await URLSession(configuration: configuration).bytes(url)
    }
}

extension URLSession {
    func bytes(_ url: String) async throws -> [UInt8] {
        Array(try await data(from: URL(string: url)!).0)
    }
}

/// Returns an icon that differs for each seed.
func icon(_ seed: Int) -> [UInt8] { IconPainter.svg(seed: seed, size: 16) }
