import LarderCache
import LarderCore
import NIOCore

/// The icon that a request's target leads to, with the prepared parts of the answer.
final class KnownIcon: Sendable {
    /// The memory that its places in a table and its head take, in bytes.
    private static let overhead = 1_024

    let digest: Digest
    let size: Int64
    /// The digest as a strong validator, with its quotation marks.
    let entityTag: String
    /// Lines of the head of each answer, with their ends.
    let fields: [UInt8]
    let typeField: [UInt8]
    let body: ByteBuffer?
    /// The file that was compared with the digest.
    let file: FileIdentity
    let generation: Int
    let foundAt: NIODeadline
    /// The memory that it takes, in bytes. Its key counts, because clients choose its length.
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
        // If several keys lead to one object, its bytes count for each of them.
        cost = (body?.readableBytes ?? 0) + key.byteCount + Self.overhead
    }
}

struct FoundIcon: Sendable {
    enum Bytes: Sendable {
        case memory(ByteBuffer)
        case file(LentFile)
    }

    let icon: KnownIcon
    let bytes: Bytes
}

/// Recently used icons, by the target of their requests, within a limit of bytes. If the young
/// table is half full, it becomes the old one, so that finding a young icon writes nothing.
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
            guard let icon = old.removeValue(forKey: key) else { return nil }
            oldCost -= icon.cost
            insert(icon, for: key)
            return icon
        }
    }

    /// Keeps an icon as a young one. Returns the icons that were dropped. Freeing them takes
    /// milliseconds, so do it without a lock.
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
