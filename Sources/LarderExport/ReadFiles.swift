import GRDB
import LarderCache
import LarderCore

/// The digests of untrusted files. Each is read only once, even if it has many hard links.
struct ReadFiles {
    struct Content {
        let digest: Digest
        let size: Int64
        var attributes = ObjectAttributes()
        var imageFault: String?
    }

    private let database: DatabaseQueue
    private let reader = ObjectReader()

    init() throws {
        database = try .scratch(
            """
            CREATE TABLE main.files (
                file TEXT PRIMARY KEY, digest BLOB NOT NULL, size INTEGER NOT NULL,
                media_type TEXT, width INTEGER, height INTEGER, fault TEXT
            ) WITHOUT ROWID;
            """)
    }

    func add(_ file: FileIdentity, _ content: Content) throws {
        let attributes = content.attributes
        try database.writeWithoutTransaction {
            try $0.prepared("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)").run(
                file.text, content.digest, content.size, attributes.mediaType, attributes.width,
                attributes.height, content.imageFault)
        }
    }

    /// Returns the file's content, or nil if the file has not been read or has changed since.
    func content(of file: FileIdentity) throws -> Content? {
        try database.read { db in
            try db.prepared(
                "SELECT digest, size, media_type, width, height, fault FROM files WHERE file = ?"
            ).rows(file.text) { row in
                Content(
                    digest: try row.requireDigest(), size: row.integer(),
                    attributes: ObjectAttributes(
                        mediaType: row.text(), width: row.optionalInteger().map(Int.init),
                        height: row.optionalInteger().map(Int.init)),
                    imageFault: row.text())
            }.first
        }
    }

    /// Returns the digest of a regular file, open at its start. Returns nil if cancelled.
    func digest(of file: FileDescriptor, isCancelled: () -> Bool) throws -> Digest? {
        let identity = FileIdentity(try file.status())
        if let known = try content(of: identity) { return known.digest }
        guard let read = try reader.digest(file, isCancelled: isCancelled) else { return nil }
        try add(identity, Content(digest: read.digest, size: read.count))
        return read.digest
    }
}
