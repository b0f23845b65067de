import GRDB
import LarderCache
import LarderCore

/// A file that may have the bytes of a URL.
struct ImportPlace {
    let name: String
    /// The digests that the directory says it may have; none if it says nothing.
    var digests: [Digest] = []
    /// The file with the origin's answer, if the library has one. Without it, there is no entry.
    var answer: String?
    /// Whether that file begins with a status, because the library also stores bodies of errors.
    var hasStatus = false
}

/// Where a directory has the bytes of URLs.
enum ImportSource {
    /// The names of files tell their URLs.
    case library(any KeyedLayout)
    case list(ListedFiles)

    /// Returns the files that may have the bytes of a URL, the likeliest first.
    func places(of url: String) throws -> [ImportPlace] {
        switch self {
        case .list(let files): return try files.places(of: url)
        case .library(let layout):
            let answer = layout.journal?.emptyFiles(layout.stem(of: url)).first
            return layout.names(of: url).map {
                ImportPlace(name: $0, answer: answer, hasStatus: layout.storesErrors)
            }
        }
    }
}

/// The files of ``FileIndex``, by URL.
struct ListedFiles {
    private let database: DatabaseQueue

    init(in directory: FileDescriptor, _ goOn: () throws -> Void) throws {
        database = try .scratch(
            """
            CREATE TABLE main.files (
                url TEXT, file TEXT, digest BLOB, PRIMARY KEY (url, file, digest)
            ) WITHOUT ROWID;
            """)
        guard try add(FileIndex(in: directory), goOn) else {
            throw CacheError(
                .missing, subject: directory.subject,
                message: "there is no \(FileIndex.file), which says whose the files are")
        }
        // An unfinished export has left files that the list does not have.
        _ = try add(FileIndex(in: directory, FileIndex.pendingFile), goOn)
    }

    private func add(_ index: FileIndex, _ goOn: () throws -> Void) throws -> Bool {
        try index.forEachPage(goOn) { lines in
            try database.run(
                "INSERT OR IGNORE INTO files VALUES (?, ?, ?)",
                for: lines.map(\.line).filter { $0.url != nil }
            ) {
                $1.bind($0.url)
                $1.bind($0.file)
                $1.bind($0.digest)
            }
        }
    }

    fileprivate func places(of url: String) throws -> [ImportPlace] {
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
