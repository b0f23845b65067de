import GRDB
import LarderCache
import LarderCore
import LarderManifest

package final class CatalogueEdits {
    private let database: DatabaseQueue
    private var last: Int64 = -1

    package init() throws {
        database = try .scratch(
            """
            CREATE TABLE main.icons (
                id INTEGER PRIMARY KEY, identity BLOB NOT NULL UNIQUE, written TEXT NOT NULL,
                new TEXT NOT NULL, code TEXT
            );
            CREATE TABLE main.spans (
                start INTEGER PRIMARY KEY, length INTEGER NOT NULL, icon INTEGER NOT NULL,
                usable INTEGER NOT NULL
            );
            CREATE TABLE main.files (name TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID;
            """)
    }

    func icon(_ identity: Digest) throws -> (number: Int64, code: ExportCode?, isKept: Bool)? {
        try database.unsafeRead { db in
            try db.prepared("SELECT id, code, new = '' FROM icons WHERE identity = ?")
                .rows(identity) {
                    let (number, code) = ($0.integer(), $0.text().flatMap(ExportCode.init))
                    return (number: number, code: code, isKept: $0.bool())
                }.first
        }
    }

    /// Adds the icon unless it is known, and returns its number. A nil replacement keeps the value.
    @discardableResult
    package func add(
        _ identity: Digest, written: String, new: String?, code: ExportCode? = nil
    ) throws -> Int64 {
        try database.writeWithoutTransaction { db in
            try db.prepared("INSERT OR IGNORE INTO icons VALUES (NULL, ?, ?, ?, ?)")
                .run(identity, written, new ?? "", code?.rawValue)
            return try db.prepared("SELECT id FROM icons WHERE identity = ?")
                .firstInteger(identity) ?? 0
        }
    }

    /// Records the span of a value. YAML merges can give a span several values. The first failed
    /// value decides the outcome, or else the first value.
    package func add(_ span: Range<Int>, number: Int64) throws {
        try database.writeWithoutTransaction { db in
            try db.prepared(
                """
                INSERT INTO spans SELECT ?, ?, id, code IS NULL FROM icons WHERE id = ?
                ON CONFLICT (start) DO UPDATE SET
                    icon = iif(
                        (SELECT code FROM icons WHERE id = spans.icon) IS NULL
                            AND excluded.usable = 0, excluded.icon, spans.icon),
                    usable = spans.usable + excluded.usable
                """
            ).run(span.lowerBound, span.count, number)
        }
    }

    /// Calls `body` for each failed span with the number of its values that did not fail.
    func forEachSpoiled(_ body: (_ code: ExportCode, _ count: Int) -> Void) throws {
        try database.forEachRow(
            """
            SELECT i.code, s.usable FROM spans s JOIN icons i ON i.id = s.icon
            WHERE s.usable > 0 AND i.code IS NOT NULL
            """
        ) { row in
            guard let code = ExportCode(rawValue: try row.requireText()) else { return }
            body(code, Int(row.integer()))
        }
    }

    /// Calls `body` with the value of each failed span that is not replaced.
    func forEachKept(_ body: (_ written: String) -> Void) throws {
        try database.forEachRow(
            "SELECT i.written FROM spans s JOIN icons i ON i.id = s.icon WHERE i.new = ''"
        ) { body(try $0.requireText()) }
    }

    /// Reserves a name, ignoring case. Returns false if it belongs to another object.
    func take(_ name: String, for digest: Digest) throws -> Bool {
        let name = SafeName.folded(name)
        return try database.writeWithoutTransaction { db in
            try db.prepared("INSERT OR IGNORE INTO files VALUES (?, ?)").run(name, digest)
            return try db.prepared("SELECT digest = ? FROM files WHERE name = ?")
                .firstInteger(digest, name) == 1
        }
    }

    package func next() throws -> CatalogueEdit? {
        let edit = try database.unsafeRead { db in
            try db.prepared(
                """
                SELECT s.start, s.length, i.id, i.new FROM spans s JOIN icons i ON i.id = s.icon
                WHERE s.start > ? AND i.new <> '' ORDER BY s.start LIMIT 1
                """
            ).rows(last) { row in
                let start = Int(row.integer())
                return CatalogueEdit(
                    span: start..<start + Int(row.integer()), number: row.integer(),
                    text: try row.requireText())
            }.first
        }
        if let edit { last = Int64(edit.span.lowerBound) }
        return edit
    }

    /// Calls `body` with each value and its only replacement, or nil if it was kept everywhere.
    package func forEachIcon(_ body: (_ written: String, _ new: String?) throws -> Void) throws {
        try database.forEachRow(
            """
            SELECT written, nullif(max(new), '')
            FROM (SELECT written, iif(id IN (SELECT icon FROM spans), new, '') AS new FROM icons)
            GROUP BY written HAVING min(nullif(new, '')) IS max(nullif(new, ''))
            """
        ) { try body($0.requireText(), $0.text()) }
    }
}
