import GRDB
import LarderCache
import LarderCore

struct FileLines {
    private let database: DatabaseQueue

    init() throws {
        database = try .scratch(
            """
            CREATE TABLE main.earlier (
                file TEXT NOT NULL, digest BLOB NOT NULL, size INTEGER NOT NULL,
                stem TEXT NOT NULL, folded_stem TEXT NOT NULL,
                folded_file TEXT NOT NULL, line TEXT NOT NULL, is_pending INTEGER NOT NULL,
                PRIMARY KEY (file, digest)
            ) WITHOUT ROWID;
            CREATE INDEX main.pending ON earlier (file, digest) WHERE is_pending;
            CREATE TABLE main.current (
                file TEXT PRIMARY KEY, folded_file TEXT NOT NULL, folded_stem TEXT NOT NULL,
                line TEXT NOT NULL
            ) WITHOUT ROWID;
            CREATE INDEX main.by_file ON current (folded_file);
            CREATE INDEX main.by_stem ON current (folded_stem);
            """)
    }

    /// Adds lines of the previous export. If a file and digest have several lines, keeps the first.
    func addEarlier(_ lines: [(line: FileIndex.Line, text: String)], arePending: Bool) throws {
        try database.run(
            "INSERT OR IGNORE INTO earlier VALUES (?, ?, ?, ?, ?, ?, ?, ?)", for: lines
        ) {
            let (line, text) = $0
            let stem = Self.stem(line)
            return [
                line.file, line.digest, line.size, stem, SafeName.folded(stem),
                SafeName.folded(line.file), text, arePending,
            ]
        }
    }

    func add(_ lines: [FileIndex.Line]) throws {
        try database.run("INSERT OR IGNORE INTO current VALUES (?, ?, ?, ?)", for: lines) {
            [$0.file, SafeName.folded($0.file), SafeName.folded(Self.stem($0)), $0.json]
        }
    }

    private static func stem(_ line: FileIndex.Line) -> String {
        ImageFile.stem(withoutScale: PathExtension.without(line.file))
    }

    func keep(_ earlier: Earlier) throws {
        // The stem is empty, because the file does not replace earlier files with its stem.
        try update(
            """
            INSERT OR IGNORE INTO current
            SELECT file, folded_file, '', line FROM earlier WHERE file = ? AND digest = ?
            """, earlier)
    }

    func makePending(_ earlier: Earlier) throws {
        try update("UPDATE earlier SET is_pending = 1 WHERE file = ? AND digest = ?", earlier)
    }

    private func update(_ sql: String, _ earlier: Earlier) throws {
        try database.run(sql, for: [earlier]) { [$0.file, $0.digest] }
    }

    /// A file of the previous export that the current export has not written.
    struct Earlier {
        let file: String
        let stem: String
        let digest: Digest
        let size: Int64
        let isReplaced: Bool
        let isRespelled: Bool
        let hasOneDigest: Bool
    }

    func forEachEarlier(_ body: (Earlier) throws -> Void) throws {
        try database.forEachPage { (db: Database, last: Earlier?) in
            try db.prepared(
                """
                SELECT file, stem, digest, size,
                    folded_stem IN (SELECT folded_stem FROM current WHERE folded_stem <> ''),
                    folded_file IN (SELECT folded_file FROM current),
                    NOT EXISTS (
                        SELECT * FROM earlier o
                        WHERE o.file = e.file AND o.digest IS NOT e.digest
                    )
                FROM earlier e
                WHERE (file, digest) > (?, ?) AND file NOT IN (SELECT file FROM current)
                ORDER BY file, digest LIMIT 256
                """
            ).rows(last?.file ?? "", last?.digest) {
                Earlier(
                    file: try $0.requireText(), stem: try $0.requireText(),
                    digest: try $0.requireDigest(), size: $0.integer(),
                    isReplaced: $0.bool(), isRespelled: $0.bool(), hasOneDigest: $0.bool())
            }
        } _: {
            try $0.forEach(body)
        }
    }

    func hasPending() throws -> Bool {
        try database.hasRow("SELECT 1 FROM earlier WHERE is_pending AND ? LIMIT 1", true)
    }

    func forEachPending(_ body: (String) throws -> Void) throws {
        try database.forEachRow("SELECT line FROM earlier WHERE is_pending ORDER BY file, digest") {
            try body($0.requireText())
        }
    }

    func forEachLine(_ body: (String) throws -> Void) throws {
        try database.forEachRow("SELECT line FROM current ORDER BY file") {
            try body($0.requireText())
        }
    }
}
