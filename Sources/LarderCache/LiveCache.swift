import Foundation
import LarderCore

/// A cache directory that is read for a long time: opened when it is first used, and again if it
/// was created, replaced or rebuilt meanwhile. Its methods read the disk and may wait for it.
package final class LiveCache: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`. (`Mutex` needs iOS 18.)

    /// The number of files whose identity is remembered: they are compared with their digests once.
    private let knownLimit: Int
    package let path: String
    private let log: CacheLog
    private let lock = NSLock()
    private var cache: Cache?
    /// The index that was there just before the cache was opened.
    private var index: FileIdentity?
    private var known: [Digest: FileIdentity] = [:]
    private var version: Int64?
    private var changes = 0

    package init(path: String, knownLimit: Int = 1 << 16, log: CacheLog = .none) {
        self.path = path
        self.log = log
        self.knownLimit = knownLimit
    }

    deinit {
        // SQLite may write when it closes: not on this thread, which may be an app's main one.
        guard let cache else { return }
        DispatchQueue.global(qos: .utility).async { withExtendedLifetime(cache) {} }
    }

    package var opened: Cache? { lock.withLock { cache } }

    @discardableResult
    package func open() throws(CacheError) -> Cache {
        if let cache = opened { return cache }
        // Not with the lock held: others must not wait for the disk.
        let index = Cache.indexFile(ofCacheAt: path)
        let cache = try Cache.open(at: path, log: log)
        lock.withLock { (self.cache, self.index) = (cache, index) }
        return cache
    }

    package func close() {
        let cache = lock.withLock {
            defer { self.cache = nil }
            return self.cache
        }
        withExtendedLifetime(cache) {}
    }

    /// Closes the cache if it has no index, or if the index was replaced.
    @discardableResult
    package func closeIfReplaced() -> Bool {
        let index = Cache.indexFile(ofCacheAt: path)
        // Released without the lock: to close it may take a while.
        let closed = lock.withLock { () -> Cache? in
            guard let cache else { return nil }
            let isSame =
                if let index, let last = self.index { index.isSameFile(as: last) } else {
                    index == nil && self.index == nil
                }
            // A prefetch may have written an index meanwhile.
            guard !isSame || cache.indexURI == nil else { return nil }
            self.cache = nil
            return cache
        }
        let isClosed = closed != nil
        if isClosed { log(.info, "\(path): the index was replaced, and is opened again") }
        return isClosed
    }

    /// A number that grows when ``refresh()`` finds that the index has changed.
    package var generation: Int { lock.withLock { changes } }

    /// Closes the cache if it was replaced, and returns the ``generation``. An index that changed
    /// since the last call, or that cannot be read, makes it grow.
    @discardableResult
    package func refresh() -> Int {
        let isReplaced = closeIfReplaced()
        let version = (try? using { try $0.indexVersion() }) ?? nil
        return lock.withLock {
            if isReplaced || version == nil || version != self.version { changes += 1 }
            self.version = version
            return changes
        }
    }

    /// Reads the open cache; once more if its index cannot be read because a run has rebuilt it.
    /// Throws ``CacheError`` `.missing` if there is no cache, and what `body` throws.
    package func using<Value>(_ body: (Cache) throws -> Value) throws -> Value {
        let cache = try open()
        do {
            return try body(cache)
        } catch let error as CacheError where error.code == .index || error.code == .damaged {
            lock.withLock { if self.cache === cache { self.cache = nil } }
            return try body(open())
        }
    }

    package func resource(_ url: String, isFromClient: Bool = false) throws -> Resource? {
        try using {
            isFromClient
                ? try $0.resource(spelledWithoutEmptyQuery: url) : try $0.resource(spelledAs: url)
        }
    }

    package func manifest(_ url: HTTPURL) throws -> (descriptor: Int32, baseURL: HTTPURL)? {
        try using { try $0.manifest(url)?.file }
    }

    /// The bytes of an object of at most `limit` bytes, compared with its digest unless known.
    package func data(
        of object: StoredObject, atMost limit: Int64 = .max
    ) throws -> (data: Data, file: FileIdentity) {
        try using { cache in
            let object = limit == .max ? object : cache.sized(object)
            guard object.size <= limit else {
                throw CacheError(
                    .corrupt, subject: "\(object.digest)",
                    message: "is larger than \(limit >> 20) MiB, which no icon is")
            }
            let last = identity(of: object.digest)
            let (data, file) = try cache.data(of: object, unlessKnown: last)
            if file != last { remember(file, as: object.digest) }
            return (data, file)
        }
    }

    package func identity(of digest: Digest) -> FileIdentity? { lock.withLock { known[digest] } }

    package func remember(_ file: FileIdentity, as digest: Digest) {
        lock.withLock {
            // To compare all of them once more costs less than to know which are still read.
            if known.count >= knownLimit { known.removeAll(keepingCapacity: true) }
            known[digest] = file
        }
    }

    /// Records that objects were used, unless another process is writing.
    package func noteUse(of objects: [Digest]) { opened?.noteUse(of: objects) }
}
