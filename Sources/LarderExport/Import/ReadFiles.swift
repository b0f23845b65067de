import GRDB
import LarderCache

/// The findings about the files of a foreign directory. Each file is read once, even if it has many
/// names or many lines in a list: both cost their owner nothing.
struct ReadFiles {
    /// The findings about a file.
    struct Content {
        let digest: Digest
        let size: Int64
        /// The attributes of the image, or the reason why the bytes are not adopted.
        let image: Result<ObjectAttributes, ImportFile.Refusal>
    }

    private let database: DatabaseQueue

    init() throws {
        database = try Cache.scratchDatabase(at: nil, beside: nil)
        try database.writeWithoutTransaction {
            try $0.execute(
                sql: """
                    PRAGMA main.cache_size = -2048;
                    CREATE TABLE main.files (
                        file TEXT PRIMARY KEY, digest BLOB NOT NULL, size INTEGER NOT NULL,
                        media_type TEXT, width INTEGER, height INTEGER, refusal TEXT
                    ) WITHOUT ROWID;
                    """)
        }
    }

    func add(_ file: FileIdentity, _ content: Content) throws {
        let image = try? content.image.get()
        var refusal: String?
        if case .failure(let reason) = content.image { refusal = reason.message }
        try database.writeWithoutTransaction { db in
            try PreparedStatement(
                db, "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)"
            ).run {
                $0.bind(file.text)
                $0.bind(content.digest)
                $0.bind(content.size)
                $0.bind(image?.mediaType)
                $0.bind(image?.width)
                $0.bind(image?.height)
                $0.bind(refusal)
            }
        }
    }

    /// Returns the findings about a file; nil if it was not read, or has changed.
    func content(of file: FileIdentity) throws -> Content? {
        try database.read { db in
            try PreparedStatement(
                db,
                "SELECT digest, size, media_type, width, height, refusal FROM files WHERE file = ?"
            ).rows(file.text) { row in
                let attributes = ObjectAttributes(
                    mediaType: row.text(2), width: row.optionalInteger(3).map(Int.init),
                    height: row.optionalInteger(4).map(Int.init))
                return Content(
                    digest: try row.requireDigest(0), size: row.integer(1),
                    image: row.text(5).map {
                        .failure(ImportFile.Refusal(code: .notAnImage, message: $0))
                    } ?? .success(attributes))
            }.first
        }
    }
}
