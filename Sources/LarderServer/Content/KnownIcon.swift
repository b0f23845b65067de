import LarderCache
import LarderIcons
import NIOCore

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
