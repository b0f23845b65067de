import Foundation
import LarderCache
import LarderTestSupport

/// Caches with the content that a prefetch would store.
enum CacheFixture {
    /// Creates the cache at `path` and stores `contents` in it.
    ///
    /// - Returns: The paths of the objects' files, by URL.
    @discardableResult
    static func fill(
        _ path: String, with contents: [String: [UInt8]], receivedAt: Date = Date()
    ) throws -> [String: String] {
        let cache = try Cache.create(at: path)
        let store = try cache.store()
        for (url, bytes) in contents {
            let body = try store.newBody { append in try bytes.withUnsafeBytes(append) }
            let staged = try store.stage(
                body, digest: body.finish(), attributes: ObjectAttributes())
            store.add(
                Deposit(
                    key: url, url: url, validators: Validators(), receivedAt: receivedAt,
                    content: .staged(staged)),
                for: nil
            ) {}
        }
        store.flush()
        store.close()
        var files: [String: String] = [:]
        for url in contents.keys {
            if let resource = try cache.resource(url) {
                files[url] = cache.absolutePath(of: resource.object.digest)
            }
        }
        cache.close()
        return files
    }
}
