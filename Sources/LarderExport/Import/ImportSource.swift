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

extension KeyedLayout {
    /// Returns the files that may contain a URL's bytes, the most likely first.
    func places(of url: String) -> [ImportPlace] {
        let metadata = journal?.emptyFiles(stem(of: url)).first
        return names(of: url).map {
            ImportPlace(name: $0, metadata: metadata, hasStatus: storesErrors)
        }
    }
}

struct ListedFiles {
    private let database: DatabaseQueue

    init(in directory: FileDescriptor, unless isCancelled: () -> Bool) throws {
        database = try .scratch(
            """
            CREATE TABLE main.files (
                url TEXT, file TEXT, digest BLOB, PRIMARY KEY (url, file, digest)
            ) WITHOUT ROWID;
            """)
        // If an export was killed, some files are only in the pending list.
        for (name, isRequired) in [(FileIndex.file, true), (FileIndex.pendingFile, false)] {
            let isFound = try FileIndex.forEachPage(of: name, in: directory) {
                if isCancelled() { throw CancellationError() }
            } _: { lines in
                try database.run(
                    "INSERT OR IGNORE INTO files VALUES (?, ?, ?)",
                    for: lines.map(\.line).filter { $0.url != nil }
                ) { [$0.url, $0.file, $0.digest] }
            }
            if isRequired, !isFound { throw Self.missingIndex(in: directory) }
        }
    }

    static func missingIndex(in directory: FileDescriptor) -> CacheError {
        CacheError(
            .missing, subject: directory.subject,
            message: "has no \(FileIndex.file) that lists the URLs of its files")
    }

    func places(of url: String) throws -> [ImportPlace] {
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
