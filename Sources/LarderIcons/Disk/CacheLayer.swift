import Foundation
import LarderCache
import LarderCore

/// One cache directory as an app reads it: opened when it is first asked, and opened again if it
/// was made, replaced or rebuilt meanwhile.
///
/// Its methods read the disk, and may wait for it: they are for threads of the cache's own.
final class CacheLayer: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`.

    /// What is known of so many files: they are compared with their digests once.
    private static let mostKnown = 1 << 16
    /// Nobody's cache is to fill an app's memory with one object.
    private static let largest: Int64 = 256 << 20

    let source: MemoryCache.Entry.Source
    private let path: String
    private let lock = NSLock()
    private var cache: Cache?
    private var known: [Digest: FileIdentity] = [:]

    init(path: String, source: MemoryCache.Entry.Source) {
        self.path = path
        self.source = source
    }

    /// The resource of a URL in any spelling; nil if it is not cached, or there is no cache.
    func resource(_ url: String) throws -> Resource? {
        try using { try $0.resource(spelledAs: url) } ?? nil
    }

    /// The bytes of an object that ``resource(_:)`` has named, compared with its digest if its file
    /// is not known from before.
    func data(of object: StoredObject) throws -> Data? {
        try using { cache in
            let object = cache.sized(object)
            guard object.size <= Self.largest else {
                throw CacheError(
                    .corrupt, subject: "\(object.digest)",
                    message: "is larger than \(Self.largest >> 20) MiB, which no icon is")
            }
            let last = lock.withLock { known[object.digest] }
            let (data, file) = try cache.data(of: object, unlessKnown: last)
            if file != last { remember(file, as: object.digest) }
            return data
        }
    }

    /// Records that objects were used, unless another process writes just now.
    func noteUse(of objects: [Digest]) {
        guard let cache = lock.withLock({ cache }) else { return }
        cache.noteUse(of: objects)
    }

    deinit {
        // SQLite may write as it closes: not on the thread that lets go of this, which may be the
        // app's main one.
        guard let cache else { return }
        DispatchQueue.global(qos: .utility).async { withExtendedLifetime(cache) {} }
    }

    /// Closes the cache, as soon as nobody reads it; the next read opens it again.
    func close() {
        let cache = lock.withLock {
            defer { self.cache = nil }
            return self.cache
        }
        withExtendedLifetime(cache) {}
    }

    private func remember(_ file: FileIdentity, as digest: Digest) {
        lock.withLock {
            // To compare them once more costs less than to know which are still read.
            if known.count >= Self.mostKnown { known.removeAll(keepingCapacity: true) }
            known[digest] = file
        }
    }

    /// Reads the open cache. Once more if its index is another one by now: a run has rebuilt it.
    private func using<Value>(_ body: (Cache) throws -> Value) throws -> Value? {
        guard let cache = try open() else { return nil }
        do {
            return try body(cache)
        } catch let error as CacheError where error.code == .index || error.code == .damaged {
            lock.withLock { if self.cache === cache { self.cache = nil } }
            guard let cache = try open() else { return nil }
            return try body(cache)
        }
    }

    /// Nil if there is no cache (yet): a prefetch may make one.
    private func open() throws -> Cache? {
        try lock.withLock {
            if let cache { return cache }
            do {
                let opened = try Cache.open(at: path)
                // What has no index has nothing to read; it is looked at again.
                if opened.indexURI != nil { cache = opened }
                return opened
            } catch let error as CacheError where error.code == .missing {
                return nil
            }
        }
    }
}
