import Foundation
import LarderCache
import LarderCore
import NIOCore
import Synchronization

/// The icons of the cache. Methods may wait for the disk, except those named `…AtOnce`.
final class IconStore: Sendable {
    /// The maximum size of an object in memory, in bytes. Larger objects are sent from their files.
    static let largestInMemory: Int64 = 64 << 10
    /// The age at which an icon is looked up again, so that its use is recorded.
    private static let maximumAge = TimeAmount.minutes(10)
    /// The minimum limit of the table in bytes, also used if no bodies are kept in memory.
    private static let minimumTableLimit = 8 << 20
    private static let maximumIdentities = 1 << 18
    /// The maximum number of files kept open. Opening takes as long as all other work for an icon.
    private static let maximumOpenFiles = min(16_384, OpenFileLimit.current / 4)

    private struct State {
        var hot: HotIcons
        /// Files that do not match their digests. They are not read again.
        var damaged: [Digest: FileIdentity] = [:]
        /// Recently sent files. They are closed when the cache changes, to free evicted objects.
        var open: [Digest: LentFile] = [:]
        var generation = 0
        var reported: Set<Digest> = []
    }

    let cache: LiveCache
    let readings = ObjectReadings()
    private let state: Mutex<State>
    private let keepsBytes: Bool
    private let metrics: ServerMetrics
    private let log: ServerLog

    init(path: String, memoryLimit: Int, metrics: ServerMetrics, log: ServerLog) throws(CacheError)
    {
        cache = LiveCache(path: path, knownLimit: Self.maximumIdentities)
        (keepsBytes, self.metrics, self.log) = (memoryLimit > 0, metrics, log)
        state = Mutex(State(hot: HotIcons(limit: max(memoryLimit, Self.minimumTableLimit))))
        try cache.open()
    }

    var memory: (bytes: Int, count: Int) { state.withLock { ($0.hot.cost, $0.hot.count) } }

    /// Invalidates the icons if the cache has changed. Called every second.
    func refresh() {
        let last = cache.opened
        let generation = cache.refresh()
        // Closing many files takes milliseconds, so it is done without the lock.
        let open: [Digest: LentFile] = state.withLock { state in
            guard state.generation != generation || state.open.count >= Self.maximumOpenFiles
            else { return [:] }
            defer { (state.generation, state.open) = (generation, [:]) }
            return state.open
        }
        withExtendedLifetime(open) {}
        if let last, cache.opened !== last { log.logger?.info("cache reopened") }
    }

    func iconAtOnce(_ key: CacheKey) -> FoundIcon? {
        guard let icon = state.withLock({ $0.hot[key] }), icon.generation == cache.generation,
            NIODeadline.now() - icon.foundAt < Self.maximumAge
        else { return nil }
        if let body = icon.body {
            metrics.memoryHits.add(1, ordering: .relaxed)
            return (icon, .memory(body))
        }
        guard let file = fileAtOnce(icon.digest, size: icon.size, known: icon.file),
            let bytes = Self.bytesAtOnce(of: file)
        else { return nil }
        metrics.diskHits.add(1, ordering: .relaxed)
        return (icon, bytes)
    }

    func icon(
        _ key: CacheKey, fields: [UInt8], for client: Client,
        _ lookUp: (LiveCache) throws -> StoredObject?
    ) throws -> FoundIcon? {
        // Read before the look-up, so that a later change invalidates the result.
        let generation = cache.generation
        guard let object = try lookUp(cache) else {
            state.withLock { $0.hot.remove(key) }
            return nil
        }
        cache.noteUse(of: object)
        do {
            let (file, bytes) = try read(object, state.withLock { $0.hot[key] }, client)
            var body: ByteBuffer?
            if keepsBytes, case .memory(let bytes) = bytes { body = bytes }
            let icon = KnownIcon(
                object, for: key, body: body, file: file, generation: generation, fields: fields)
            let dropped = state.withLock { $0.hot.insert(icon, for: key) }
            withExtendedLifetime(dropped) {}
            return (icon, bytes)
        } catch let error as CacheError where error.isOfDamagedObject {
            state.withLock { $0.hot.remove(key) }
            // The object may have been replaced since the look-up.
            guard let now = try lookUp(cache) else { return nil }
            guard now.digest == object.digest else {
                return try icon(key, fields: fields, for: client, lookUp)
            }
            metrics.corrupt.add(1, ordering: .relaxed)
            let isNew = state.withLock {
                $0.reported.count < 1_000 && $0.reported.insert(object.digest).inserted
            }
            if isNew {
                let repair = Suggestion.command("verify --repair")
                log.problem("\(error); to download it again: \(repair)")
            }
            throw error
        }
    }

    private func read(
        _ object: StoredObject, _ last: KnownIcon?, _ client: Client
    ) throws -> (file: FileIdentity, bytes: IconBytes) {
        if let last, last.digest == object.digest, let body = last.body {
            metrics.memoryHits.add(1, ordering: .relaxed)
            return (last.file, .memory(body))
        }
        let object = cache.opened?.sized(object) ?? object
        let found: (file: FileIdentity, bytes: IconBytes)
        if object.size <= Self.largestInMemory {
            let (data, file) = try cache.data(of: object)
            found = (file, .memory(ByteBuffer(bytes: data)))
        } else {
            let (file, identity) = try file(of: object, for: client)
            found = (identity, .file(file))
        }
        metrics.diskHits.add(1, ordering: .relaxed)
        return found
    }

    private static func bytesAtOnce(of file: LentFile) -> IconBytes? {
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

    /// Opens the object's file, and verifies it unless its identity is known. With a client, throws
    /// ``ObjectReadings/BusyError`` if no thread can read the object now, or `CancellationError` if
    /// all waiting clients have disconnected.
    func file(
        of object: StoredObject, for client: Client? = nil
    ) throws -> (file: LentFile, identity: FileIdentity) {
        try cache.using { cache in
            let (file, status) = try cache.open(object)
            let (identity, digest) = (FileIdentity(status), object.digest)
            let opened = (file: LentFile(file, size: object.size), identity: identity)
            if identity == self.cache.identity(of: digest) { return opened }
            guard state.withLock({ $0.damaged[digest] }) != identity else {
                throw CacheError(
                    .corrupt, subject: "\(digest)", message: "the bytes have a different digest")
            }
            if client != nil, !readings.begin(digest) {
                throw ObjectReadings.BusyError(digest: digest)
            }
            defer { if client != nil { readings.end(digest) } }
            do {
                let isWhole = try cache.confirm(file, is: object) {
                    client?.isGone == true && !readings.isAwaited(digest)
                }
                guard isWhole else { throw CancellationError() }
                self.cache.remember(identity, as: digest)
                return opened
            } catch let error as CacheError where error.code == .corrupt {
                state.withLock { state in
                    if state.damaged.count >= Self.maximumIdentities { state.damaged.removeAll() }
                    state.damaged[digest] = identity
                }
                throw error
            }
        }
    }

    private func fileAtOnce(_ digest: Digest, size: Int64, known: FileIdentity) -> LentFile? {
        let open = state.withLock { $0.open[digest] }
        if let open, open.isStill(known) { return open }
        guard let file = cache.opened?.lendAtOnce(digest, size: size, known: known) else {
            return nil
        }
        // A full table stays unchanged: with eviction, cyclic requests would find no open file.
        state.withLock { if $0.open.count < Self.maximumOpenFiles { $0.open[digest] = file } }
        return file
    }
}

final class KnownIcon: Sendable {
    /// The estimated size of the table entry and the header fields, in bytes.
    private static let overhead = 1_024

    let digest: Digest
    let entityTag: String
    let fields: [UInt8]
    let typeField: [UInt8]
    let body: ByteBuffer?
    let file: FileIdentity
    let generation: Int
    let foundAt: NIODeadline
    /// The estimated size in bytes. Includes the key, because clients choose its length.
    let cost: Int

    var size: Int64 { file.size }

    init(
        _ object: StoredObject, for key: CacheKey, body: ByteBuffer?, file: FileIdentity,
        generation: Int, fields: [UInt8]
    ) {
        digest = object.digest
        entityTag = "\"sha256-\(object.digest.hex)\""
        self.fields = fields + Response.lines([("ETag", entityTag)])
        let type = object.mediaType ?? "application/octet-stream"
        typeField = Response.lines([("Content-Type", type)])
        (self.body, self.file, self.generation) = (body, file, generation)
        foundAt = .now()
        cost = (body?.readableBytes ?? 0) + key.byteCount + Self.overhead
    }
}

enum IconBytes: Sendable {
    case memory(ByteBuffer)
    case file(LentFile)
}

typealias FoundIcon = (icon: KnownIcon, bytes: IconBytes)

/// Recently used icons by request target, within a limit in bytes. When the young table reaches
/// half of the limit, it replaces the old table. A look-up of a young icon needs no write.
struct HotIcons {
    private let limit: Int
    private var young: [CacheKey: KnownIcon] = [:]
    private var old: [CacheKey: KnownIcon] = [:]
    private var youngCost = 0
    private var oldCost = 0

    init(limit: Int) { self.limit = limit }

    var cost: Int { youngCost + oldCost }
    var count: Int { young.count + old.count }

    subscript(key: CacheKey) -> KnownIcon? {
        mutating get {
            if let icon = young[key] { return icon }
            guard let icon = old[key] else { return nil }
            insert(icon, for: key)
            return icon
        }
    }

    /// Returns the evicted icons. Release them without a lock, because freeing takes milliseconds.
    @discardableResult
    mutating func insert(_ icon: KnownIcon, for key: CacheKey) -> [CacheKey: KnownIcon] {
        if let replaced = old.removeValue(forKey: key) { oldCost -= replaced.cost }
        if let replaced = young.updateValue(icon, forKey: key) { youngCost -= replaced.cost }
        youngCost += icon.cost
        guard youngCost > limit / 2 else { return [:] }
        let dropped = old
        (old, oldCost) = (young, youngCost)
        (young, youngCost) = ([:], 0)
        return dropped
    }

    mutating func remove(_ key: CacheKey) {
        if let icon = young.removeValue(forKey: key) { youngCost -= icon.cost }
        if let icon = old.removeValue(forKey: key) { oldCost -= icon.cost }
    }
}

/// The objects that threads of the pool are verifying. Verifying can take seconds, so one thread
/// always remains for other requests. A request that must wait fails with ``BusyError`` and is
/// retried.
final class ObjectReadings: Sendable {
    struct BusyError: Error { let digest: Digest }

    private struct State {
        var reading: Set<Digest> = []
        var waiting: [(digest: Digest, client: Client, retry: @Sendable () -> Void)] = []

        func mayRead(_ digest: Digest) -> Bool {
            reading.count < ObjectReadings.threads - 1 && !reading.contains(digest)
        }
    }

    static let threads = 4
    private let state = Mutex(State())

    /// Returns whether the calling thread may read the object now. If so, it must call ``end(_:)``.
    func begin(_ digest: Digest) -> Bool {
        state.withLock { $0.mayRead(digest) && $0.reading.insert(digest).inserted }
    }

    /// Retries the requests that wait for the object, and one request for a different object.
    func end(_ digest: Digest) {
        let ready = state.withLock { state in
            state.reading.remove(digest)
            var ready = state.waiting.filter { $0.digest == digest }
            state.waiting.removeAll { $0.digest == digest }
            if let other = state.waiting.firstIndex(where: { !state.reading.contains($0.digest) }) {
                ready.append(state.waiting.remove(at: other))
            }
            return ready
        }
        for waiter in ready { waiter.retry() }
    }

    func wait(for busy: BusyError, _ client: Client, _ retry: @escaping @Sendable () -> Void) {
        let isFree = state.withLock { state in
            let isFree = state.mayRead(busy.digest)
            if !isFree { state.waiting.append((busy.digest, client, retry)) }
            return isFree
        }
        if isFree { retry() }
    }

    func isAwaited(_ digest: Digest) -> Bool {
        state.withLock { $0.waiting.contains { $0.digest == digest && !$0.client.isGone } }
    }
}
