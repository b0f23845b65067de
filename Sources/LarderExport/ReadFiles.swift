import GRDB
import LarderCache
import LarderCore

/// The digests of untrusted files. Each file is read only once, even if it has many hard links.
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

    /// Returns the digest of a regular file that is open at its start, or nil if cancelled.
    func digest(of file: FileDescriptor, isCancelled: () -> Bool) throws -> Digest? {
        let identity = FileIdentity(try file.status())
        if let known = try content(of: identity) { return known.digest }
        guard let read = try reader.digest(file, isCancelled: isCancelled) else { return nil }
        try add(identity, Content(digest: read.digest, size: read.count))
        return read.digest
    }
}

extension DatabaseQueue {
    static let pageLimit = 500

    func run<Row>(
        _ sql: String, for rows: some Sequence<Row>, _ values: (Row) -> [any SQLiteValue]
    ) throws {
        // Commits do not write a temporary database to disk, so a transaction would save no time.
        try writeWithoutTransaction { db in
            let statement = try db.prepared(sql)
            for row in rows {
                let list = values(row)
                try statement.run { parameters in list.forEach { parameters.bind($0) } }
            }
        }
    }

    func hasRow(_ sql: String, _ value: some SQLiteValue) throws -> Bool {
        try read { try $0.prepared(sql).firstInteger(value) != nil }
    }

    /// Calls `body` with each page. `page` reads the page after a row, or the first page for nil.
    func forEachPage<Row>(
        _ body: ([Row]) throws -> Void, _ page: (Database, Row?) throws -> [Row]
    ) throws {
        var last: Row?
        repeat {
            let rows = try read { try page($0, last) }
            if !rows.isEmpty { try body(rows) }
            last = rows.last
        } while last != nil
    }

    /// Calls `body` with each row. `body` must not use this database.
    func forEachRow(_ sql: String, _ body: (inout RowReader) throws -> Void) throws {
        try unsafeRead { try $0.prepared(sql).forEach(body: body) }
    }
}
