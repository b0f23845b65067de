import GRDB
import LarderCache
import LarderCore

/// Where a directory may have the bytes of a URL.
struct ImportPlace {
    /// The file's name.
    let name: String
    /// The digests that the directory says it may have; none if it says nothing.
    var digests: [Digest] = []
    /// The file that describes how the origin has answered, without which the library has no such
    /// entry; nil if the library has none.
    var answer: String?
    /// Whether that file begins with a status, since the library stores the bodies of errors.
    var hasStatus = false
}

/// Knows where a directory has the bytes of a URL.
protocol ImportSource {
    /// The places, the likeliest first.
    func places(of url: String) throws -> [ImportPlace]
}

/// A library's cache: files are named by their URLs.
struct KeyedSource: ImportSource {
    let layout: any KeyedLayout

    func places(of url: String) -> [ImportPlace] {
        let answer = layout.journal?.emptyFiles(layout.stem(of: url)).first
        return layout.names(of: url).map {
            ImportPlace(name: $0, answer: answer, hasStatus: layout.storesErrors)
        }
    }
}

/// Files with names for people: their list has the URLs.
struct ListedSource: ImportSource {
    private let database: DatabaseQueue

    /// Reads the list of a directory.
    ///
    /// - Parameter goOn: is called often; what it throws ends the reading.
    init(_ directory: FileDescriptor, _ goOn: () throws -> Void) throws {
        database = try Cache.scratchDatabase(at: nil, beside: nil)
        try database.writeWithoutTransaction {
            try $0.execute(
                sql: """
                    PRAGMA main.cache_size = -2048;
                    CREATE TABLE main.files (
                        url TEXT, file TEXT, digest BLOB, PRIMARY KEY (url, file, digest)
                    ) WITHOUT ROWID;
                    """)
        }
        guard try add(FileIndex(in: directory), goOn) else {
            throw CacheError(
                .missing, subject: directory.subject,
                message: "there is no \(FileIndex.file), which says whose the files are")
        }
        // An export that did not come to its end has left files that the list does not know.
        _ = try add(FileIndex(in: directory, FileIndex.pendingFile), goOn)
    }

    private func add(_ index: FileIndex, _ goOn: () throws -> Void) throws -> Bool {
        var page: [FileIndex.Line] = []
        let isThere = try index.forEach(goOn) { line, _ in
            page.append(line)
            guard page.count >= 500 else { return }
            try add(page)
            page.removeAll(keepingCapacity: true)
        }
        try add(page)
        return isThere
    }

    private func add(_ lines: [FileIndex.Line]) throws {
        try database.inTransaction { db in
            let insert = try PreparedStatement(db, "INSERT OR IGNORE INTO files VALUES (?, ?, ?)")
            for line in lines {
                if let url = line.url { try insert.run(url, line.file, line.digest) }
            }
            return .commit
        }
    }

    func places(of url: String) throws -> [ImportPlace] {
        let rows = try database.read { db in
            try PreparedStatement(
                db, "SELECT file, digest FROM files WHERE url = ? ORDER BY file LIMIT 100"
            ).rows(url) { (file: try $0.requireText(), digest: try $0.requireDigest()) }
        }
        var places: [ImportPlace] = []
        for (file, digest) in rows {
            if places.last?.name.isSame(as: file) != true { places.append(ImportPlace(name: file)) }
            places[places.count - 1].digests.append(digest)
        }
        return places
    }
}

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
                "SELECT media_type, width, height, digest, size, refusal FROM files WHERE file = ?"
            ).rows(file.text) { row in
                let attributes = ObjectAttributes(
                    mediaType: row.text(), width: row.optionalInteger().map(Int.init),
                    height: row.optionalInteger().map(Int.init))
                return Content(
                    digest: try row.requireDigest(), size: row.integer(),
                    image: row.text().map {
                        .failure(ImportFile.Refusal(code: .notAnImage, message: $0))
                    } ?? .success(attributes))
            }.first
        }
    }
}
