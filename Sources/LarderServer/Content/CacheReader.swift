import Foundation
import LarderCache
import LarderCore
import Synchronization

/// The cache as a server reads it.
///
/// Its methods read the disk, and may wait for it: they are for threads of the server's pool.
final class CacheReader: Sendable {
    /// The number of files whose identity is remembered.
    private static let mostKnown = 1 << 18

    /// So many files are held open, as far as the process may have four times as many: opening one
    /// takes as long as all else that is done for an icon.
    private static let mostOpen = min(16_384, OpenFileLimit.current / 4)

    private struct State {
        /// Files that turned out to have other bytes: they are read once, however often they are
        /// asked for.
        var damaged: [Digest: FileIdentity] = [:]
        var version: Int64?
        /// Files that were sent lately. None is held for longer than a second after the cache was
        /// changed: what is evicted is to be free.
        var open: [Digest: LentFile] = [:]
    }

    let cache: LiveCache
    let readings = ObjectReadings()
    private let changes = Atomic<Int>(0)
    private let state = Mutex(State())

    /// - Throws: `CacheError` if the cache cannot be opened; `.missing` if there is none.
    init(path: String) throws(CacheError) {
        cache = LiveCache(path: path, knownLimit: Self.mostKnown)
        try cache.open()
    }

    /// An object of the index; nil if it is not there.
    func object(_ digest: Digest) throws -> StoredObject? {
        try cache.using { try $0.object(digest) }
    }

    /// Returns the object with the size of its file.
    func sized(_ object: StoredObject) -> StoredObject { cache.opened?.sized(object) ?? object }

    /// The file of an object, compared with its digest if it is not known.
    ///
    /// - Parameter client: the client that waits for it. Default: nil, the caller's own thread.
    /// - Throws: `CacheError`; ``ObjectReadings/Busy`` if another thread reads the file for other
    ///   clients; `CancellationError` if all clients have disconnected.
    func file(
        of object: StoredObject, for client: Client? = nil
    ) throws -> (file: LentFile, identity: FileIdentity) {
        try cache.using { cache in
            let (file, identity) = try cache.open(object)
            if identity != self.cache.identity(of: object.digest) {
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
            self.cache.remember(identity, as: digest)
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
        let open = state.withLock { $0.open[digest] }
        if let open, open.isStill(known) { return open }
        guard let file = cache.opened?.lendAtOnce(digest, size: size, known: known) else {
            return nil
        }
        state.withLock { state in
            // What is asked for in turn would else always have been closed just before.
            if state.open.count < Self.mostOpen { state.open[digest] = file }
        }
        return file
    }

    /// Another number once it was noticed that the index has changed: ``refresh()`` does.
    var generation: Int { changes.load(ordering: .relaxed) }

    /// Looks whether anybody has changed the index since this was last done. If nobody knows, it
    /// has.
    ///
    /// - Returns: the generation.
    @discardableResult
    func refresh() -> Int {
        let isReplaced = cache.closeIfReplaced()
        let version = (try? cache.using { try $0.indexVersion() }) ?? nil
        return state.withLock { state in
            let isSame = !isReplaced && version != nil && state.version == version
            state.version = version
            if !isSame || state.open.count >= Self.mostOpen { state.open = [:] }
            if !isSame { changes.add(1, ordering: .relaxed) }
            return generation
        }
    }
}
