import GRDB
import LarderCache
import LarderCore
import LarderManifest

/// The icon values of a manifest and their replacements, in a temporary database.
package final class CatalogueEdits {
    private let database: DatabaseQueue
    private var page: [(start: Int64, length: Int64, value: Int64)] = []
    private var last: Int64 = -1
    /// Values for ``next()``, at most ``textLimit`` bytes.
    private var texts: [Int64: String] = [:]
    private var textSize = 0
    private static let textLimit = 1 << 20

    package init() throws {
        database = try .scratch(
            """
            CREATE TABLE main.icons (
                id INTEGER PRIMARY KEY, written TEXT NOT NULL, new TEXT NOT NULL,
                UNIQUE (written, new)
            );
            CREATE TABLE main.spans (
                start INTEGER PRIMARY KEY, length INTEGER NOT NULL, icon INTEGER NOT NULL
            );
            CREATE TABLE main.files (name TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID;
            """)
    }

    /// Records values and their replacements. A replacement of nil keeps the value.
    package func add(
        _ icons: [(written: String, new: String?)]
    ) throws -> [(number: Int64, isNew: Bool)] {
        var numbers: [(number: Int64, isNew: Bool)] = []
        try database.inTransaction { db in
            let find = try PreparedStatement(
                db, "SELECT id FROM icons WHERE written = ? AND new = ?")
            let insert = try PreparedStatement(db, "INSERT INTO icons VALUES (NULL, ?, ?)")
            for (written, new) in icons {
                if let known = try find.firstInteger(written, new ?? "") {
                    numbers.append((known, false))
                } else {
                    try insert.run(written, new ?? "")
                    numbers.append((db.lastInsertedRowID, true))
                }
            }
            return .commit
        }
        return numbers
    }

    /// Records the spans of values. The first value of a span counts.
    package func add(_ spans: [(span: Range<Int>, number: Int64)]) throws {
        try database.run("INSERT OR IGNORE INTO spans VALUES (?, ?, ?)", for: spans) {
            $1.bind(Int64($0.span.lowerBound))
            $1.bind(Int64($0.span.count))
            $1.bind($0.number)
        }
    }

    /// Takes a file name for an object. Returns false if another object has the name, ignoring
    /// case.
    func take(_ name: String, for digest: Digest) throws -> Bool {
        let name = String(decoding: name.utf8.lowercasedASCII, as: UTF8.self)
        return try database.writeWithoutTransaction { db in
            try PreparedStatement(db, "INSERT OR IGNORE INTO files VALUES (?, ?)").run(name, digest)
            return try PreparedStatement(db, "SELECT digest = ? FROM files WHERE name = ?")
                .firstInteger(digest, name) == 1
        }
    }

    /// Returns the next edit in the order of spans, or nil.
    package func next() throws -> CatalogueEdit? {
        if page.isEmpty {
            page = try database.read { [last] db in
                try PreparedStatement(
                    db,
                    """
                    SELECT s.start, s.length, s.icon FROM spans s JOIN icons i ON i.id = s.icon
                    WHERE s.start > ? AND i.new <> '' ORDER BY s.start LIMIT 256
                    """
                ).rows(last) { ($0.integer(), $0.integer(), $0.integer()) }
            }.reversed()
        }
        guard let row = page.popLast() else { return nil }
        last = row.start
        let start = Int(row.start)
        return CatalogueEdit(
            span: start..<start + Int(row.length), number: row.value, text: try text(row.value))
    }

    private func text(_ number: Int64) throws -> String {
        if let text = texts[number] { return text }
        let found = try database.read { db in
            try PreparedStatement(db, "SELECT new FROM icons WHERE id = ?")
                .rows(number) { try $0.requireText() }
        }
        let text = found.first ?? ""
        if textSize + text.utf8.count > Self.textLimit {
            texts.removeAll()
            textSize = 0
        }
        texts[number] = text
        textSize += text.utf8.count
        return text
    }

    /// Calls `body` with each value and its replacement, or nil if the value was kept. Values with
    /// several replacements, such as the same relative name in two folders, are left out.
    package func forEachIcon(_ body: (_ written: String, _ new: String?) throws -> Void) throws {
        try database.forEachRow(
            { db, last in
                try PreparedStatement(
                    db,
                    """
                    SELECT written, min(new), count(*) FROM icons
                    WHERE written > ? GROUP BY written ORDER BY written LIMIT 64
                    """
                ).rows(last?.written ?? "") {
                    (written: try $0.requireText(), new: try $0.requireText(), count: $0.integer())
                }
            },
            { row in
                if row.count == 1 { try body(row.written, row.new.isEmpty ? nil : row.new) }
            })
    }
}
