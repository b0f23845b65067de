import GRDB
import LarderCache

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
            ).rows(url) { (file: try $0.requireText(0), digest: try $0.requireDigest(1)) }
        }
        var places: [ImportPlace] = []
        for (file, digest) in rows {
            if places.last?.name.isSame(as: file) != true { places.append(ImportPlace(name: file)) }
            places[places.count - 1].digests.append(digest)
        }
        return places
    }
}
