import Foundation
import LarderCache
import LarderCore
import Synchronization

/// The cache as a server reads it: opened again if it was made, replaced or rebuilt meanwhile.
///
/// Its methods read the disk, and may wait for it: they are for threads of the server's pool.
final class CacheReader: Sendable {
    /// What is known of so many files: they are compared with their digests once.
    private static let mostKnown = 1 << 18

    /// So many files are held open, as far as the process may have four times as many: opening one
    /// takes as long as all else that is done for an icon.
    private static let mostOpen = min(16_384, OpenFileLimit.current / 4)

    private struct State {
        var cache: Cache?
        /// The index that was there just before the cache was opened.
        var index: FileIdentity?
        var known: [Digest: FileIdentity] = [:]
        /// Files that turned out to have other bytes: they are read once, however often they are
        /// asked for.
        var damaged: [Digest: FileIdentity] = [:]
        var version: Int64?
        /// Files that were sent lately. None is held for longer than a second after the cache was
        /// changed: what is evicted is to be free.
        var open: [Digest: LentFile] = [:]
    }

    let path: String
    let readings = ObjectReadings()
    private let changes = Atomic<Int>(0)
    private let state = Mutex(State())

    /// - Throws: `CacheError` if the cache cannot be opened; `.missing` if there is none.
    init(path: String) throws(CacheError) {
        self.path = path
        let index = Cache.indexFile(ofCacheAt: path)
        let cache = try Cache.open(at: path)
        state.withLock { ($0.cache, $0.index) = (cache, index) }
    }

    /// The resource of a URL in any spelling, or of another key; nil if it is not cached.
    func resource(_ url: String) throws -> Resource? {
        try using { try $0.resource(spelledAs: url) }
    }

    /// An object of the index; nil if it is not there.
    func object(_ digest: Digest) throws -> StoredObject? { try using { try $0.object(digest) } }

    /// Returns the object with the size of its file.
    func sized(_ object: StoredObject) -> StoredObject {
        state.withLock { $0.cache }?.sized(object) ?? object
    }

    /// The bytes of a small object, compared with its digest if its file is not known.
    func data(of object: StoredObject) throws -> (data: Data, file: FileIdentity) {
        try using { cache in
            let last = known(object.digest)
            let (data, file) = try cache.data(of: object, unlessKnown: last)
            if file != last { remember(file, as: object.digest) }
            return (data, file)
        }
    }

    /// The file of an object, compared with its digest if it is not known.
    ///
    /// - Parameter client: the client that waits for it. Default: nil, the caller's own thread.
    /// - Throws: `CacheError`; ``ObjectReadings/Busy`` if another thread reads the file for other
    ///   clients; `CancellationError` if all clients have disconnected.
    func file(
        of object: StoredObject, for client: Client? = nil
    ) throws -> (file: LentFile, identity: FileIdentity) {
        try using { cache in
            let (file, identity) = try cache.open(object)
            if identity != known(object.digest) {
                try confirm(file, identity, object, cache, client)
            }
            return (LentFile(file, size: object.size), identity)
        }
    }

    private func confirm(
        _ file: LarderCache.FileDescriptor, _ identity: FileIdentity, _ object: StoredObject,
        _ cache: Cache, _ client: Client?
    ) throws {
        let digest = object.digest
        guard state.withLock({ $0.damaged[digest] }) != identity else {
            throw CacheError(
                .corrupt, subject: "\(digest)", message: "the bytes have another digest")
        }
        if client != nil, !readings.begin(digest) { throw ObjectReadings.Busy(digest: digest) }
        defer { if client != nil { readings.end(digest) } }
        do {
            let isWhole = try cache.confirm(file, is: object) {
                client?.isGone == true && !readings.isAwaited(digest)
            }
            guard isWhole else { throw CancellationError() }
            remember(identity, as: digest)
        } catch let error as CacheError where error.code == .corrupt {
            state.withLock { state in
                if state.damaged.count >= Self.mostKnown { state.damaged.removeAll() }
                state.damaged[digest] = identity
            }
            throw error
        }
    }

    /// The file of an object that was compared before, if that takes no disk.
    func fileAtOnce(_ digest: Digest, size: Int64, known: FileIdentity) -> LentFile? {
        let (cache, open) = state.withLock { ($0.cache, $0.open[digest]) }
        if let open, open.isStill(known) { return open }
        guard let file = cache?.lendAtOnce(digest, size: size, known: known) else { return nil }
        state.withLock { state in
            // What is asked for in turn would else always have been closed just before.
            if state.open.count < Self.mostOpen { state.open[digest] = file }
        }
        return file
    }

    /// Hands over the cache for something longer.
    func reading<Value>(_ body: (Cache) throws -> Value) throws -> Value { try using(body) }

    /// Records that objects were used, unless another process writes just now.
    func noteUse(of objects: [Digest]) {
        state.withLock { $0.cache }?.noteUse(of: objects)
    }

    /// What the cache holds.
    func status() throws -> CacheStatus { try using { try $0.status() } }

    /// Another number once it was noticed that the index has changed: ``refresh()`` does.
    var generation: Int { changes.load(ordering: .relaxed) }

    /// Looks whether anybody has changed the index since this was last done. If nobody knows, it
    /// has.
    ///
    /// - Returns: the generation.
    @discardableResult
    func refresh() -> Int {
        dropIfReplaced()
        let version = (try? using { try $0.indexVersion() }) ?? nil
        return state.withLock { state in
            let isSame = version != nil && state.version == version
            state.version = version
            // What has no index has nothing to read; it may have one by now.
            if state.cache?.indexURI == nil { state.cache = nil }
            if !isSame || state.open.count >= Self.mostOpen { state.open = [:] }
            if !isSame { changes.add(1, ordering: .relaxed) }
            return generation
        }
    }

    /// Lets the cache go if its index is another file by now: that of a cache which was rebuilt,
    /// replaced or moved here. Those who still read the old one notice nothing.
    private func dropIfReplaced() {
        let index = Cache.indexFile(ofCacheAt: path)
        state.withLock { state in
            let isSame =
                if let index, let last = state.index { index.isSameFile(as: last) } else {
                    index == nil && state.index == nil
                }
            if !isSame { (state.cache, state.version) = (nil, nil) }
        }
    }

    private func known(_ digest: Digest) -> FileIdentity? { state.withLock { $0.known[digest] } }

    private func remember(_ file: FileIdentity, as digest: Digest) {
        state.withLock { state in
            // To compare them once more costs less than to know which are still read.
            if state.known.count >= Self.mostKnown { state.known.removeAll() }
            state.known[digest] = file
        }
    }

    /// Reads the open cache. Once more if its index is another one by now: a run has rebuilt it.
    private func using<Value>(_ body: (Cache) throws -> Value) throws -> Value {
        let cache = try open()
        do {
            return try body(cache)
        } catch let error as CacheError where error.code == .index || error.code == .damaged {
            state.withLock { if $0.cache === cache { $0.cache = nil } }
            return try body(open())
        }
    }

    private func open() throws -> Cache {
        if let cache = state.withLock({ $0.cache }) { return cache }
        let index = Cache.indexFile(ofCacheAt: path)
        let opened = try Cache.open(at: path)
        state.withLock { ($0.cache, $0.index) = (opened, index) }
        return opened
    }
}
