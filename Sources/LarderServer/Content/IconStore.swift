import Foundation
import LarderCache
import LarderCore
import NIOCore
import Synchronization

/// The icons of the cache, from memory or the disk. Methods may wait for the disk, except those
/// whose names end with `AtOnce`.
final class IconStore: Sendable {
    /// The largest object that is kept in memory, in bytes. Larger ones are sent from their files.
    static let largestInMemory: Int64 = 64 << 10
    /// An icon is looked up again after this time, so that its use is recorded.
    private static let mostAge = TimeAmount.minutes(10)
    /// The limit of the table of icons if none is kept in memory, in bytes.
    private static let leastLimit = 8 << 20
    /// The number of files whose identity is remembered.
    private static let mostKnown = 1 << 18
    /// The maximum number of open files, if the process may have four times as many. Opening a file
    /// takes as long as everything else that is done for an icon.
    private static let mostOpen = min(16_384, OpenFileLimit.current / 4)

    private struct State {
        var hot: HotIcons
        /// Files with other bytes. They are read once, however often they are asked for.
        var damaged: [Digest: FileIdentity] = [:]
        /// Files that were sent recently. They are closed within a second after the cache has
        /// changed, so that evicted files are freed.
        var open: [Digest: LentFile] = [:]
        var generation = 0
        /// Damaged objects that were reported. Each is reported once.
        var told: Set<Digest> = []
        var used: Set<Digest> = []
    }

    let cache: LiveCache
    let readings = ObjectReadings()
    private let state: Mutex<State>
    private let keepsBytes: Bool
    private let metrics: ServerMetrics
    private let log: ServerLog

    /// - Throws: `CacheError` if the cache cannot be opened; `.missing` if there is none.
    init(path: String, memoryLimit: Int, metrics: ServerMetrics, log: ServerLog) throws(CacheError)
    {
        cache = LiveCache(path: path, knownLimit: Self.mostKnown)
        keepsBytes = memoryLimit > 0
        state = Mutex(State(hot: HotIcons(limit: max(memoryLimit, Self.leastLimit))))
        self.metrics = metrics
        self.log = log
        try cache.open()
    }

    var memory: (bytes: Int, count: Int) { state.withLock { ($0.hot.cost, $0.hot.count) } }

    /// Has everything looked up again if the cache has changed. Called every second.
    func refresh() {
        let last = cache.opened
        let generation = cache.refresh()
        // Closing many files takes milliseconds, so it is done without the lock.
        let (hasChanged, open) = state.withLock { state in
            let hasChanged = state.generation != generation
            state.generation = generation
            guard hasChanged || state.open.count >= Self.mostOpen else { return (false, [:]) }
            defer { state.open = [:] }
            return (hasChanged, state.open)
        }
        withExtendedLifetime(open) {}
        if let last, cache.opened !== last {
            log.logger?.info("cache reopened")
        } else if hasChanged {
            log.logger?.debug("index changed")
        }
    }

    /// Returns the icon that a target has led to, without blocking. Nil if it may lead to another,
    /// or if its bytes are not in memory.
    func iconAtOnce(_ key: CacheKey) -> FoundIcon? {
        guard let icon = state.withLock({ $0.hot[key] }), icon.generation == cache.generation,
            NIODeadline.now() - icon.foundAt < Self.mostAge
        else { return nil }
        if let body = icon.body {
            metrics.memoryHits.add(1, ordering: .relaxed)
            return FoundIcon(icon: icon, bytes: .memory(body))
        }
        guard let file = fileAtOnce(icon.digest, size: icon.size, known: icon.file),
            let bytes = Self.bytesAtOnce(of: file)
        else { return nil }
        metrics.diskHits.add(1, ordering: .relaxed)
        return FoundIcon(icon: icon, bytes: bytes)
    }

    /// Returns an icon, found by `key` next time; nil if it is not cached. Throws
    /// ``ObjectReadings/Busy``, or `CacheError`, `.corrupt` if its bytes are damaged.
    func icon(
        _ key: CacheKey, fields: [UInt8], for client: Client,
        _ lookUp: (LiveCache) throws -> StoredObject?
    ) throws -> FoundIcon? {
        // Before the look-up: later changes make it look again.
        let generation = cache.generation
        guard let object = try lookUp(cache) else {
            state.withLock { $0.hot.remove(key) }
            return nil
        }
        noteUse(of: object)
        if let last = state.withLock({ $0.hot[key] }), last.digest == object.digest,
            let body = last.body
        {
            let icon = KnownIcon(
                object, for: key, body: body, file: last.file, generation: generation,
                fields: fields)
            keep(icon, for: key)
            metrics.memoryHits.add(1, ordering: .relaxed)
            return FoundIcon(icon: icon, bytes: .memory(body))
        }
        do {
            let found = try read(object, key, generation, fields, client)
            keep(found.icon, for: key)
            metrics.diskHits.add(1, ordering: .relaxed)
            return found
        } catch let error as CacheError where error.isOfDamagedObject {
            state.withLock { $0.hot.remove(key) }
            // It may have been evicted or replaced since the look-up.
            guard let now = try lookUp(cache) else { return nil }
            guard now.digest == object.digest else {
                return try icon(key, fields: fields, for: client, lookUp)
            }
            tell(error, of: object.digest)
            throw error
        }
    }

    private func keep(_ icon: KnownIcon, for key: CacheKey) {
        let dropped = state.withLock { $0.hot.insert(icon, for: key) }
        withExtendedLifetime(dropped) {}
    }

    private func read(
        _ object: StoredObject, _ key: CacheKey, _ generation: Int, _ fields: [UInt8],
        _ client: Client
    ) throws -> FoundIcon {
        let object = cache.opened?.sized(object) ?? object
        func known(_ file: FileIdentity, _ body: ByteBuffer? = nil) -> KnownIcon {
            KnownIcon(
                object, for: key, body: body, file: file, generation: generation, fields: fields)
        }
        if object.size <= Self.largestInMemory {
            let (data, file) = try cache.data(of: object)
            let body = ByteBuffer(bytes: data)
            return FoundIcon(icon: known(file, keepsBytes ? body : nil), bytes: .memory(body))
        }
        let (file, identity) = try file(of: object, for: client)
        return FoundIcon(icon: known(identity), bytes: .file(file))
    }

    /// Reads a small file. A large one is sent as it is.
    private static func bytesAtOnce(of file: LentFile) -> FoundIcon.Bytes? {
        guard file.size <= largestInMemory else { return .file(file) }
        var buffer = ByteBufferAllocator().buffer(capacity: Int(file.size))
        var isWhole = false
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Int(file.size)) { room in
            let room = UnsafeMutableRawBufferPointer(rebasing: room[..<Int(file.size)])
            isWhole = file.read(at: 0, into: room, atOnce: true)
            return isWhole ? room.count : 0
        }
        return isWhole ? .memory(buffer) : nil
    }

    private func tell(_ error: CacheError, of digest: Digest) {
        metrics.corrupt.add(1, ordering: .relaxed)
        let isNew = state.withLock { $0.told.count < 1_000 && $0.told.insert(digest).inserted }
        if isNew { log.problem("\(error); larder verify --repair fetches it again") }
    }

    /// Returns the file of an object, compared with its digest unless it is known. Throws
    /// `CacheError`; ``ObjectReadings/Busy`` if another thread reads it and there is a client;
    /// `CancellationError` if all clients have disconnected.
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

    /// Returns the file of an object that was compared before, if that does not read the disk.
    private func fileAtOnce(_ digest: Digest, size: Int64, known: FileIdentity) -> LentFile? {
        let open = state.withLock { $0.open[digest] }
        if let open, open.isStill(known) { return open }
        guard let file = cache.opened?.lendAtOnce(digest, size: size, known: known) else {
            return nil
        }
        // A full table stays: else files that are asked for in turn would always have been closed.
        state.withLock { if $0.open.count < Self.mostOpen { $0.open[digest] = file } }
        return file
    }

    private func noteUse(of object: StoredObject) {
        guard ObjectUse.isDue(object.usedAt) else { return }
        state.withLock { state in
            if state.used.count < ObjectUse.stepLimit { state.used.insert(object.digest) }
        }
    }

    /// Records the use of objects for evictions. If another process writes the index just then,
    /// they are noted again when they are next looked up. Called every few seconds.
    func recordUse() {
        let objects = state.withLock { state in
            defer { state.used = [] }
            return state.used
        }
        if !objects.isEmpty { cache.noteUse(of: Array(objects)) }
    }
}
