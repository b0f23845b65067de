import GRDB
import LarderCache
import LarderCore

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
                        file TEXT NOT NULL, digest BLOB NOT NULL, size INTEGER NOT NULL,
                        stem TEXT NOT NULL, stem_alike TEXT NOT NULL,
                        alike TEXT NOT NULL, line TEXT NOT NULL, is_pending INTEGER NOT NULL,
                        PRIMARY KEY (file, digest)
                    ) WITHOUT ROWID;
                    CREATE INDEX main.pending ON earlier (file, digest) WHERE is_pending;
                    CREATE TABLE main.current (
                        file TEXT PRIMARY KEY, alike TEXT NOT NULL, line TEXT NOT NULL
                    ) WITHOUT ROWID;
                    CREATE INDEX main.by_likeness ON current (alike);
                    CREATE TABLE main.stems (alike TEXT PRIMARY KEY) WITHOUT ROWID;
                    """)
        }
    }

    /// The lines of the last export; of several for the same bytes of one file, the first.
    ///
    /// - Parameter arePending: whether they were not in its list, or not any more.
    func addEarlier(
        _ lines: [(line: FileIndex.Line, text: String)], arePending: Bool
    ) throws {
        try database.inTransaction { db in
            let insert = try PreparedStatement(
                db, "INSERT OR IGNORE INTO earlier VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
            for (line, text) in lines {
                let stem = Self.stem(of: line.file)
                try insert.run {
                    $0.bind(line.file)
                    $0.bind(line.digest)
                    $0.bind(line.size)
                    $0.bind(stem)
                    $0.bind(SafeName.folded(stem))
                    $0.bind(SafeName.folded(line.file))
                    $0.bind(text)
                    $0.bind(Int64(arePending ? 1 : 0))
                }
            }
            return .commit
        }
    }

    /// Lines of this export, whose files are not written yet.
    func addPending(_ lines: [FileIndex.Line]) throws {
        try addEarlier(lines.map { ($0, $0.json) }, arePending: true)
    }

    func add(_ lines: [FileIndex.Line]) throws {
        try database.inTransaction { db in
            let insert = try PreparedStatement(
                db, "INSERT OR IGNORE INTO current VALUES (?, ?, ?)")
            let note = try PreparedStatement(db, "INSERT OR IGNORE INTO stems VALUES (?)")
            for line in lines {
                try insert.run(line.file, SafeName.folded(line.file), line.json)
                try note.run(SafeName.folded(Self.stem(of: line.file)))
            }
            return .commit
        }
    }

    /// Keeps the line of a file of the last export.
    func keep(_ earlier: Earlier) throws {
        try database.writeWithoutTransaction { db in
            try PreparedStatement(
                db,
                """
                INSERT OR IGNORE INTO current
                SELECT file, alike, line FROM earlier WHERE file = ? AND digest = ?
                """
            ).run(earlier.file, earlier.digest)
        }
    }

    /// Notes that the list of this export has not that line.
    func makePending(_ earlier: Earlier) throws {
        try database.writeWithoutTransaction { db in
            try PreparedStatement(
                db, "UPDATE earlier SET is_pending = 1 WHERE file = ? AND digest = ?"
            ).run(earlier.file, earlier.digest)
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
        /// Whether this export has a file whose name differs only in case or normalisation.
        let isRespelled: Bool
        /// Whether it is known which bytes it should have.
        let isSure: Bool
    }

    /// Hands over the files of the last export that this one has not written, once for each of the
    /// bytes that they may have.
    func forEachEarlier(_ body: (Earlier) throws -> Void) throws {
        var last: (file: String, digest: Digest?) = ("", nil)
        while true {
            let page = try database.read { db in
                try PreparedStatement(
                    db,
                    """
                    SELECT file, stem, digest, size,
                        stem_alike IN (SELECT alike FROM stems),
                        alike IN (SELECT alike FROM current),
                        NOT EXISTS (
                            SELECT * FROM earlier o
                            WHERE o.file = e.file AND o.digest IS NOT e.digest
                        )
                    FROM earlier e
                    WHERE (file, digest) > (?, ?) AND file NOT IN (SELECT file FROM current)
                    ORDER BY file, digest LIMIT 256
                    """
                ).rows(last.file, last.digest) {
                    Earlier(
                        file: try $0.requireText(), stem: try $0.requireText(),
                        digest: try $0.requireDigest(), size: $0.integer(),
                        isReplaced: $0.bool(), isRespelled: $0.bool(), isSure: $0.bool())
                }
            }
            guard let end = page.last else { return }
            last = (end.file, end.digest)
            try page.forEach(body)
        }
    }

    var hasPending: Bool {
        get throws {
            try database.read { db in
                try PreparedStatement(db, "SELECT 1 FROM earlier WHERE is_pending LIMIT 1")
                    .firstInteger() != nil
            }
        }
    }

    /// Hands over the lines that the list has not, by their files' names.
    func forEachPending(_ body: (String) throws -> Void) throws {
        var last: (file: String, digest: Digest?) = ("", nil)
        while true {
            let page = try database.read { db in
                try PreparedStatement(
                    db,
                    """
                    SELECT file, digest, line FROM earlier
                    WHERE is_pending AND (file, digest) > (?, ?)
                    ORDER BY file, digest LIMIT 256
                    """
                ).rows(last.file, last.digest) {
                    (try $0.requireText(), try $0.requireDigest(), try $0.requireText())
                }
            }
            guard let end = page.last else { return }
            last = (end.0, end.1)
            for (_, _, line) in page { try body(line) }
        }
    }

    /// Hands over all lines, by their files' names.
    func forEachLine(_ body: (String) throws -> Void) throws {
        var last = ""
        while true {
            let page = try database.read { db in
                try PreparedStatement(
                    db, "SELECT file, line FROM current WHERE file > ? ORDER BY file LIMIT 256"
                ).rows(last) { (try $0.requireText(), try $0.requireText()) }
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
