import Foundation
import LarderCache

/// A cache directory that an app reads. It is empty if there is no cache.
struct CacheLayer {
    /// In bytes, so that a foreign cache cannot fill an app's memory with one object.
    private static let largest: Int64 = 256 << 20

    let source: MemoryCache.Entry.Source
    let cache: LiveCache

    init(path: String, source: MemoryCache.Entry.Source, log: CacheLog) {
        cache = LiveCache(path: path, log: log)
        self.source = source
    }

    func resource(_ url: String) throws -> Resource? {
        try unlessMissing { try cache.resource(url) } ?? nil
    }

    /// Compares the bytes with the digest unless the file is known.
    func data(of object: StoredObject) throws -> Data? {
        try unlessMissing { try cache.data(of: object, atMost: Self.largest).data }
    }

    /// Returns nil if there is no cache. A prefetch may create one later.
    private func unlessMissing<Value>(_ body: () throws -> Value) throws -> Value? {
        do {
            // An index may have been created since.
            if let cache = cache.opened, cache.indexURI == nil { self.cache.close() }
            return try body()
        } catch let error as CacheError where error.code == .missing {
            return nil
        }
    }
}
