import Foundation
import LarderCore

/// A long-lived reader that reopens a replaced or rebuilt cache. Methods may wait for the disk.
package final class LiveCache: @unchecked Sendable {
    // Unchecked because `lock` guards the variables.
    private let knownLimit: Int
    package let path: String
    private let log: CacheLog
    private let lock = NSLock()
    private var cache: Cache?
    private var index: FileIdentity?
    private var checkedFiles: [Digest: FileIdentity] = [:]
    private var version: Int64?
    private var changes = 0
    private var used: Set<Digest> = []

    package init(path: String, knownLimit: Int = 1 << 16, log: CacheLog = .none) {
        (self.path, self.knownLimit, self.log) = (path, knownLimit, log)
    }

    deinit {
        // Closing SQLite may write to the disk, which would block an app's main thread.
        guard let cache else { return }
        DispatchQueue.global(qos: .utility).async { withExtendedLifetime(cache) {} }
    }

    private var indexFile: FileIdentity? { FileIdentity(path: "\(path)/\(CacheLayout.index)") }
    package var opened: Cache? { lock.withLock { cache } }

    @discardableResult package func open() throws(CacheError) -> Cache {
        if let cache = opened { return cache }
        // The lock is not held here, because other threads must not wait for the disk.
        let index = indexFile
        let cache = try Cache.open(at: path, log: log)
        lock.withLock { (self.cache, self.index) = (cache, index) }
        return cache
    }

    package func close() { withExtendedLifetime(lock.withLock { cache.take() }) {} }

    package var generation: Int { lock.withLock { changes } }

    /// Reopens a replaced cache. Returns the ``generation``, which increases with each change.
    @discardableResult package func refresh() -> Int {
        let index = indexFile
        let isReplaced =
            lock.withLock { () -> Cache? in
                guard let cache else { return nil }
                let isSame =
                    index.map { self.index?.isSameFile(as: $0) == true } ?? (self.index == nil)
                // A prefetch may have created an index that was missing at opening.
                guard !isSame || cache.indexURI == nil else { return nil }
                return self.cache.take()
            } != nil
        if isReplaced { log(.info, "\(path): the index was replaced; opening it again") }
        let version = (try? using { try $0.indexVersion() }) ?? nil
        return lock.withLock {
            if isReplaced || version == nil || version != self.version { changes += 1 }
            self.version = version
            return changes
        }
    }

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
        try using { cache in
            if let resource = try cache.resource(spelledAs: url) { return resource }
            // Clients such as curl drop an empty query.
            guard isFromClient, !url.utf8.contains(UInt8(ascii: "?")) else { return nil }
            return try cache.resource(spelledAs: url + "?")
        }
    }

    package func manifest(_ url: HTTPURL) throws -> (descriptor: Int32, baseURL: HTTPURL)? {
        try using { try $0.manifest(url)?.file }
    }

    package func data(
        of object: StoredObject, atMost limit: Int64 = .max
    ) throws -> (data: Data, file: FileIdentity) {
        try using { cache in
            let object = limit == .max ? object : cache.sized(object)
            guard object.size <= limit else {
                throw CacheError(
                    corrupt: object.digest,
                    "is larger than \(limit >> 20) MiB, the limit for an icon")
            }
            let last = identity(of: object.digest)
            let (data, file) = try cache.data(of: object, unlessKnown: last)
            if file != last { remember(file, as: object.digest) }
            return (data, file)
        }
    }

    package func identity(of digest: Digest) -> FileIdentity? {
        lock.withLock { checkedFiles[digest] }
    }

    package func remember(_ file: FileIdentity, as digest: Digest) {
        lock.withLock {
            // Checking all files again is cheaper than tracking their use.
            if checkedFiles.count >= knownLimit { checkedFiles.removeAll(keepingCapacity: true) }
            checkedFiles[digest] = file
        }
    }

    /// Notes a use for ``recordUse()``. Returns whether it is the first one to record.
    @discardableResult package func noteUse(of object: StoredObject) -> Bool {
        guard ObjectUse.isDue(object.usedAt) else { return false }
        return lock.withLock {
            guard used.count < ObjectUse.stepLimit else { return false }
            return used.insert(object.digest).inserted && used.count == 1
        }
    }

    /// Records the noted uses. Drops them if another process is writing to the index.
    package func recordUse() {
        let objects = lock.withLock {
            defer { used = [] }
            return used
        }
        if !objects.isEmpty { opened?.noteUse(of: Array(objects)) }
    }
}
