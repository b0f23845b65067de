import LarderCache
import LarderCore
import NIOCore

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

struct FoundIcon: Sendable {
    enum Bytes: Sendable {
        case memory(ByteBuffer)
        case file(LentFile)
    }

    let icon: KnownIcon
    let bytes: Bytes
}

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
            guard let icon = old.removeValue(forKey: key) else { return nil }
            oldCost -= icon.cost
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
