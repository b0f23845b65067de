import GRDB
import LarderCache

/// The lines of a list of files: those of the last export, and those of this one, in a temporary
/// database.
final class FileLines {
    private let database: DatabaseQueue

    init() throws {
        database = try Cache.scratchDatabase(at: nil, beside: nil)
        try database.writeWithoutTransaction {
            try $0.execute(
                sql: """
                    PRAGMA main.cache_size = -2048;
                    CREATE TABLE main.earlier (
                        file TEXT PRIMARY KEY, stem TEXT NOT NULL, digest BLOB NOT NULL,
                        size INTEGER NOT NULL, line TEXT NOT NULL
                    ) WITHOUT ROWID;
                    CREATE TABLE main.current (
                        file TEXT PRIMARY KEY, line TEXT NOT NULL
                    ) WITHOUT ROWID;
                    CREATE TABLE main.stems (stem TEXT PRIMARY KEY) WITHOUT ROWID;
                    """)
        }
    }

    /// The lines of the last export; of several for one file, the first.
    func addEarlier(_ lines: [(line: FileIndex.Line, text: String)]) throws {
        try database.inTransaction { db in
            let insert = try PreparedStatement(
                db, "INSERT OR IGNORE INTO earlier VALUES (?, ?, ?, ?, ?)")
            for (line, text) in lines {
                let stem = Self.stem(of: line.file)
                try insert.run(line.file, stem, line.digest, line.size, text)
            }
            return .commit
        }
    }

    func add(_ lines: [FileIndex.Line]) throws {
        try database.inTransaction { db in
            let insert = try PreparedStatement(db, "INSERT OR IGNORE INTO current VALUES (?, ?)")
            let note = try PreparedStatement(db, "INSERT OR IGNORE INTO stems VALUES (?)")
            for line in lines {
                try insert.run(line.file, line.json)
                try note.run(Self.stem(of: line.file))
            }
            return .commit
        }
    }

    /// Keeps the line of a file of the last export.
    func keep(_ file: String) throws {
        try database.writeWithoutTransaction { db in
            try PreparedStatement(
                db, "INSERT OR IGNORE INTO current SELECT file, line FROM earlier WHERE file = ?"
            ).run(file)
        }
    }

    /// A file of the last export that this one has not written.
    struct Earlier {
        let file: String
        let stem: String
        let digest: Digest
        let size: Int64
        /// Whether this export has a file of its name with another extension.
        let isReplaced: Bool
    }

    /// Hands over the files of the last export that this one has not written.
    func forEachEarlier(_ body: (Earlier) throws -> Void) throws {
        var last = ""
        while true {
            let page = try database.read { db in
                try PreparedStatement(
                    db,
                    """
                    SELECT file, stem, digest, size, stem IN (SELECT stem FROM stems) FROM earlier
                    WHERE file > ? AND file NOT IN (SELECT file FROM current)
                    ORDER BY file LIMIT 256
                    """
                ).rows(last) {
                    Earlier(
                        file: try $0.requireText(0), stem: try $0.requireText(1),
                        digest: try $0.requireDigest(2), size: $0.integer(3),
                        isReplaced: $0.bool(4))
                }
            }
            guard let end = page.last else { return }
            last = end.file
            try page.forEach(body)
        }
    }

    /// Hands over all lines, by their files' names.
    func forEachLine(_ body: (String) throws -> Void) throws {
        var last = ""
        while true {
            let page = try database.read { db in
                try PreparedStatement(
                    db, "SELECT file, line FROM current WHERE file > ? ORDER BY file LIMIT 256"
                ).rows(last) { (try $0.requireText(0), try $0.requireText(1)) }
            }
            guard let end = page.last else { return }
            last = end.0
            for (_, line) in page { try body(line) }
        }
    }

    /// A file's name without its extension.
    private static func stem(of file: String) -> String {
        let suffix = PathExtension.ofText(file)
        guard !suffix.isEmpty else { return file }
        return String(decoding: file.utf8.dropLast(suffix.utf8.count + 1), as: UTF8.self)
    }
}
