import GRDB
import LarderCache
import LarderCore

struct ImportPlace {
    let name: String
    /// The digests that `index.json` lists for the file; empty without a list.
    var digests: [Digest] = []
    /// The file with response metadata; nil if the library needs none.
    var metadata: String?
    /// Whether the metadata begins with a response status, possibly an error status.
    var hasStatus = false
}

/// The mapping from URLs to files of a directory.
enum ImportSource {
    case library(KeyedLayout)
    case list(ListedFiles)

    /// Returns the files that may contain a URL's bytes, the most likely first.
    func places(of url: String) throws -> [ImportPlace] {
        switch self {
        case .list(let files): return try files.places(of: url)
        case .library(let layout):
            let metadata = layout.journal?.emptyFiles(layout.stem(of: url)).first
            return layout.names(of: url).map {
                ImportPlace(name: $0, metadata: metadata, hasStatus: layout.storesErrors)
            }
        }
    }
}

struct ListedFiles {
    private let database: DatabaseQueue

    init(in directory: FileDescriptor, _ checkCancellation: () throws -> Void) throws {
        database = try .scratch(
            """
            CREATE TABLE main.files (
                url TEXT, file TEXT, digest BLOB, PRIMARY KEY (url, file, digest)
            ) WITHOUT ROWID;
            """)
        guard try add(FileIndex(directory: directory), checkCancellation) else {
            throw Self.missingIndex(in: directory)
        }
        // If an export was killed, some files are only in the pending list.
        let pending = FileIndex(directory: directory, name: FileIndex.pendingFile)
        _ = try add(pending, checkCancellation)
    }

    static func missingIndex(in directory: FileDescriptor) -> CacheError {
        CacheError(
            .missing, subject: directory.subject,
            message: "has no \(FileIndex.file) that lists the URLs of its files")
    }

    private func add(_ index: FileIndex, _ checkCancellation: () throws -> Void) throws -> Bool {
        try index.forEachPage(checkCancellation) { lines in
            try database.run(
                "INSERT OR IGNORE INTO files VALUES (?, ?, ?)",
                for: lines.map(\.line).filter { $0.url != nil }
            ) { [$0.url, $0.file, $0.digest] }
        }
    }

    fileprivate func places(of url: String) throws -> [ImportPlace] {
        let rows = try database.read { db in
            try db.prepared(
                "SELECT file, digest FROM files WHERE url = ? ORDER BY file LIMIT 100"
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
