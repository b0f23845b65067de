import Foundation
import LarderCache

/// One cache directory as an app reads it. A directory without a cache is an empty one.
struct CacheLayer {
    /// Nobody's cache is to fill an app's memory with one object.
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

    /// The bytes of an object that ``resource(_:)`` has named, compared with its digest if its file
    /// is not known from before.
    func data(of object: StoredObject) throws -> Data? {
        try unlessMissing { try cache.data(of: object, atMost: Self.largest).data }
    }

    /// Nil if there is no cache (yet): a prefetch may create one.
    private func unlessMissing<Value>(_ body: () throws -> Value) throws -> Value? {
        do {
            // An index may have come since.
            if let cache = cache.opened, cache.indexURI == nil { self.cache.close() }
            return try body()
        } catch let error as CacheError where error.code == .missing {
            return nil
        }
    }
}
