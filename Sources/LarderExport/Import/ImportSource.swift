import GRDB
import LarderCache

/// Where a directory has the bytes of a URL.
protocol ImportSource {
    /// The names of files that may have them, the likeliest first, and the digest that the
    /// directory says they have; nil if it says nothing.
    func files(of url: String) throws -> [(name: String, digest: Digest?)]
}

/// A library's cache: files are named by their URLs.
struct KeyedSource: ImportSource {
    let layout: any KeyedLayout

    func files(of url: String) -> [(name: String, digest: Digest?)] {
        layout.names(of: url).map { ($0, nil) }
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
                        url TEXT PRIMARY KEY, file TEXT NOT NULL, digest BLOB NOT NULL
                    ) WITHOUT ROWID;
                    """)
        }
        var page: [FileIndex.Line] = []
        let isThere = try FileIndex(in: directory).forEach(goOn) { line, _ in
            page.append(line)
            guard page.count >= 500 else { return }
            try add(page)
            page.removeAll(keepingCapacity: true)
        }
        guard isThere else {
            throw CacheError(
                .missing, subject: directory.subject,
                message: "there is no \(FileIndex.file), which says whose the files are")
        }
        try add(page)
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

    func files(of url: String) throws -> [(name: String, digest: Digest?)] {
        try database.read { db in
            try PreparedStatement(db, "SELECT file, digest FROM files WHERE url = ?")
                .rows(url) { (try $0.requireText(0), try $0.requireDigest(1)) }
        }
    }
}
