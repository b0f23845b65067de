import Foundation
import LarderCache
import LarderCore
import NIOCore
import Synchronization

/// Icons by what asks for them: from memory, or from the cache.
final class IconStore: Sendable {
    /// Larger objects are not kept in memory, but sent from their files: slow readers of them cost
    /// none. No usual icon is larger, in bytes.
    static let largestInMemory: Int64 = 64 << 10
    /// What is found again at least so often, so that its use is noted.
    private static let mostAge = TimeAmount.minutes(10)
    /// What is known of icons may take this much even if none is kept in memory.
    private static let leastLimit = 8 << 20

    let reader: CacheReader
    private let hot: Mutex<HotIcons>
    private let keepsBytes: Bool
    private let uses: UseNotes
    private let metrics: ServerMetrics
    /// Messages of damaged objects: each is told once.
    private let told = Mutex<Set<Digest>>([])
    private let onProblem: @Sendable (String) -> Void

    init(
        _ reader: CacheReader, memoryLimit: Int, uses: UseNotes, metrics: ServerMetrics,
        onProblem: @escaping @Sendable (String) -> Void
    ) {
        self.reader = reader
        self.uses = uses
        self.metrics = metrics
        self.onProblem = onProblem
        keepsBytes = memoryLimit > 0
        hot = Mutex(HotIcons(limit: max(memoryLimit, Self.leastLimit)))
    }

    /// What icons in memory take, in bytes, and how many they are.
    var memory: (bytes: Int, count: Int) { hot.withLock { ($0.cost, $0.count) } }

    /// Looks whether the cache was changed. Called every second, on a thread of the pool: what was
    /// found before is then looked up anew.
    func refresh() { reader.refresh() }

    // MARK: - On an event loop: nothing here waits

    /// The icon that a target led to, if that is still so and its bytes can be had at once.
    func iconAtOnce(_ key: CacheKey) -> FoundIcon? {
        guard let icon = hot.withLock({ $0[key] }),
            icon.generation == reader.generation,
            NIODeadline.now() - icon.foundAt < Self.mostAge
        else { return nil }
        if let body = icon.body {
            metrics.memoryHits.add(1, ordering: .relaxed)
            return FoundIcon(icon: icon, bytes: .memory(body))
        }
        guard let file = reader.fileAtOnce(icon.digest, size: icon.size, known: icon.file),
            let bytes = Self.bytes(of: file, atOnce: true)
        else { return nil }
        metrics.diskHits.add(1, ordering: .relaxed)
        return FoundIcon(icon: icon, bytes: bytes)
    }

    // MARK: - On a thread of the pool

    /// The icon of a URL or of another key; nil if it is not cached.
    ///
    /// - Parameters:
    ///   - isFromClient: Whether a client may have left out an empty query. Default: false.
    ///   - key: by which it is to be found next time.
    ///   - fields: lines of the head of its answers.
    ///   - client: the client that waits for it.
    /// - Throws: `CacheError`; `.corrupt` if its bytes are damaged. ``ObjectReadings/Busy``.
    func icon(
        _ url: String, isFromClient: Bool = false, key: CacheKey, fields: [UInt8],
        for client: Client
    ) throws -> FoundIcon? {
        try find(key, fields, client) {
            try reader.cache.resource(url, isFromClient: isFromClient)?.object
        }
    }

    /// The same of an object.
    func icon(
        _ digest: Digest, key: CacheKey, fields: [UInt8], for client: Client
    ) throws -> FoundIcon? {
        try find(key, fields, client) { try reader.object(digest) }
    }

    private func find(
        _ key: CacheKey, _ fields: [UInt8], _ client: Client, _ lookUp: () throws -> StoredObject?
    ) throws -> FoundIcon? {
        // Before it is looked up: what changes meanwhile is looked up anew.
        let generation = reader.generation
        guard let object = try lookUp() else {
            hot.withLock { $0.remove(key) }
            return nil
        }
        uses.note(object)
        if let last = hot.withLock({ $0[key] }), last.digest == object.digest,
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
            hot.withLock { $0.remove(key) }
            // Evicted or replaced between the look-up and the reading.
            guard let now = try lookUp() else { return nil }
            guard now.digest == object.digest else { return try find(key, fields, client, lookUp) }
            tell(error, of: object.digest)
            throw error
        }
    }

    private func keep(_ icon: KnownIcon, for key: CacheKey) {
        let dropped = hot.withLock { $0.insert(icon, for: key) }
        withExtendedLifetime(dropped) {}
    }

    private func read(
        _ object: StoredObject, _ key: CacheKey, _ generation: Int, _ fields: [UInt8],
        _ client: Client
    ) throws -> FoundIcon {
        let object = reader.sized(object)
        if object.size <= Self.largestInMemory {
            let (data, file) = try reader.cache.data(of: object)
            let body = ByteBuffer(bytes: data)
            let icon = KnownIcon(
                object, for: key, body: keepsBytes ? body : nil, file: file,
                generation: generation, fields: fields)
            return FoundIcon(icon: icon, bytes: .memory(body))
        }
        let (file, identity) = try reader.file(of: object, for: client)
        let icon = KnownIcon(
            object, for: key, body: nil, file: identity, generation: generation, fields: fields)
        return FoundIcon(icon: icon, bytes: .file(file))
    }

    /// The bytes of a small file are read, and a large one is left to be sent as it is.
    private static func bytes(of file: LentFile, atOnce: Bool) -> FoundIcon.Bytes? {
        guard file.size <= largestInMemory else { return .file(file) }
        var buffer = ByteBufferAllocator().buffer(capacity: Int(file.size))
        var isWhole = false
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Int(file.size)) { room in
            let room = UnsafeMutableRawBufferPointer(rebasing: room[..<Int(file.size)])
            isWhole = file.read(at: 0, into: room, atOnce: atOnce)
            return isWhole ? room.count : 0
        }
        return isWhole ? .memory(buffer) : nil
    }

    private func tell(_ error: CacheError, of digest: Digest) {
        metrics.corrupt.add(1, ordering: .relaxed)
        let isNew = told.withLock { $0.count < 1_000 && $0.insert(digest).inserted }
        if isNew { onProblem("\(error); larder verify --repair fetches it again") }
    }
}

/// What a request's target was found to lead to, with all of the answer that can be made
/// beforehand.
final class KnownIcon: Sendable {
    /// Its places in a table, and its head.
    private static let overhead = 1_024

    let digest: Digest
    let size: Int64
    /// The digest as a strong validator, with its quotation marks.
    let entityTag: String
    /// Lines of the head of any answer, each with its end.
    let fields: [UInt8]
    /// Its media type's line.
    let typeField: [UInt8]
    /// Its bytes, if they are kept in memory.
    let body: ByteBuffer?
    /// What its file was when it was compared with the digest.
    let file: FileIdentity
    /// The index's state by which it was found.
    let generation: Int
    /// When it was found.
    let foundAt: NIODeadline
    /// What it takes in memory, in bytes, its key included: that may be long, and anybody's.
    let cost: Int

    init(
        _ object: StoredObject, for key: CacheKey, body: ByteBuffer?, file: FileIdentity,
        generation: Int, fields: [UInt8]
    ) {
        digest = object.digest
        size = file.size
        entityTag = "\"sha256-\(object.digest.hex)\""
        self.fields = fields + Response.lines([("ETag", entityTag)])
        typeField = Response.lines([
            ("Content-Type", object.mediaType ?? "application/octet-stream")
        ])
        self.body = body
        self.file = file
        self.generation = generation
        foundAt = .now()
        // Several keys may lead to one object, whose bytes each of them is charged for.
        cost = (body?.readableBytes ?? 0) + key.byteCount + Self.overhead
    }
}

/// An icon and where its bytes are.
struct FoundIcon: Sendable {
    enum Bytes: Sendable {
        case memory(ByteBuffer)
        case file(LentFile)
    }

    let icon: KnownIcon
    let bytes: Bytes
}

/// The icons that were asked for lately, by the target that asked: as many as a limit of bytes
/// allows.
///
/// Two tables: one of what was used lately, and one of what was used before it was half full. So a
/// look-up writes nothing as long as what it finds was used lately. (`MemoryCache` moves what it
/// finds each time, and has no place for the answer's head.)
struct HotIcons {
    private let limit: Int
    private var young: [CacheKey: KnownIcon] = [:]
    private var old: [CacheKey: KnownIcon] = [:]
    private var youngCost = 0
    private var oldCost = 0

    init(limit: Int) { self.limit = limit }

    /// What all of them take, in bytes.
    var cost: Int { youngCost + oldCost }
    var count: Int { young.count + old.count }

    subscript(key: CacheKey) -> KnownIcon? {
        mutating get {
            if let icon = young[key] { return icon }
            guard let icon = old.removeValue(forKey: key) else { return nil }
            oldCost -= icon.cost
            insert(icon, for: key)
            return icon
        }
    }

    /// Keeps an icon as one that was used lately.
    ///
    /// - Returns: those that are kept no longer. To free them takes milliseconds: not with a lock.
    @discardableResult
    mutating func insert(_ icon: KnownIcon, for key: CacheKey) -> [CacheKey: KnownIcon] {
        let cost = icon.cost
        if let replaced = old.removeValue(forKey: key) { oldCost -= replaced.cost }
        if let replaced = young.updateValue(icon, forKey: key) {
            youngCost -= replaced.cost
        }
        youngCost += cost
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

/// Which objects were used, to be recorded for an eviction in batches.
///
/// Nobody waits for it. If another process writes the index just then, a batch is dropped: the
/// objects are noted again when they are next looked up.
final class UseNotes: Sendable {
    private let waiting = Mutex<Set<Digest>>([])

    /// Notes that an object was used, if its last recorded use is long enough ago.
    func note(_ object: StoredObject) {
        guard ObjectUse.isDue(object.usedAt) else { return }
        waiting.withLock { waiting in
            if waiting.count < ObjectUse.stepLimit { waiting.insert(object.digest) }
        }
    }

    /// Records them. Called every few seconds, on a thread of the pool.
    func record(in reader: CacheReader) {
        let objects = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        if !objects.isEmpty { reader.cache.noteUse(of: Array(objects)) }
    }
}
