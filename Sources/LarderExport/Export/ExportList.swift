import Foundation
import GRDB
import LarderCache

struct ExportedIcon {
    /// Its place in the list, from 1; 0 until it has one.
    var id: Int64 = 0
    /// The entry's name; text from outside.
    let name: String
    /// The URL as an app has it; nil if there is none.
    let url: String?
    let key: String
    /// The beginning of its files' names; nil if that is not known yet.
    let stem: String?
    /// The readable name that a stem is made of; nil if a library names the files.
    var base: String?
    /// Nil if it has failed already.
    let object: StoredObject?

    func failure(_ code: ExportCode, _ message: String) -> ExportFailure {
        ExportFailure(code, name: name, url: url ?? key, message)
    }
}

extension ExportedIcon {
    fileprivate static let columns = "id, name, url, key, stem, \(StoredObject.columns)"

    fileprivate init(_ row: inout RowReader) throws {
        self.init(
            id: row.integer(), name: try row.requireText(), url: row.text(),
            key: try row.requireText(), stem: row.text(),
            object: try row.optional { try StoredObject(&$0) })
    }
}

/// All icons of an export, in a temporary database. It is written once, then sorted, then read.
final class ExportList {
    private let database: DatabaseQueue

    init() throws {
        database = try .scratch(
            """
            CREATE TABLE main.o (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL, url TEXT, key TEXT NOT NULL,
                stem TEXT, base TEXT, folded TEXT, alike TEXT,
                digest BLOB, size INTEGER, media_type TEXT, width INTEGER, height INTEGER,
                stored_at REAL, used_at REAL
            );
            """)
    }

    func add(_ icons: [ExportedIcon]) throws {
        try database.run(
            "INSERT INTO o VALUES (NULL, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, ?)", for: icons
        ) {
            $1.bind($0.name)
            $1.bind($0.url)
            $1.bind($0.key)
            $1.bind($0.stem)
            $1.bind($0.base)
            $1.bind($0.base.map(SafeName.folded))
            $1.bind($0.object?.digest)
            $1.bind($0.object?.size)
            $1.bind($0.object?.mediaType)
            $1.bind($0.object?.width)
            $1.bind($0.object?.height)
            $1.bind($0.object?.storedAt.timeIntervalSince1970)
            $1.bind($0.object?.usedAt.timeIntervalSince1970)
        }
    }

    /// Names each icon. The first of a name has it plainly, others with a digest of their URL.
    func nameAll() throws {
        try database.writeWithoutTransaction {
            try $0.execute(sql: "CREATE INDEX main.by_base ON o (folded, id)")
        }
        var first: (folded: String, identity: String, stem: String)?
        try database.forEachPage { db, last in
            try PreparedStatement(
                db,
                """
                SELECT folded, id, base, coalesce(url, key) FROM o
                WHERE (folded, id) > (?, ?) ORDER BY folded, id LIMIT 256
                """
            ).rows(last?.folded ?? "", last?.id ?? 0) {
                (
                    folded: try $0.requireText(), id: $0.integer(), base: try $0.requireText(),
                    identity: try $0.requireText()
                )
            }
        } _: { page in
            let stems = page.map { icon in
                var stem = SafeName.told(apart: icon.base, by: icon.identity)
                if let first, first.folded.isSame(as: icon.folded) {
                    // The same icon of the same name once more.
                    if first.identity.isSame(as: icon.identity) { stem = first.stem }
                } else {
                    if !SafeName.isTold(icon.base) { stem = icon.base }
                    first = (icon.folded, icon.identity, stem)
                }
                return stem
            }
            try database.run(
                "UPDATE o SET stem = ?, alike = ? WHERE id = ?", for: zip(stems, page)
            ) {
                $1.bind($0.0)
                $1.bind(SafeName.folded($0.0))
                $1.bind($0.1.id)
            }
        }
    }

    func sort() throws {
        try database.writeWithoutTransaction {
            try $0.execute(
                sql: """
                    CREATE INDEX main.by_stem ON o (stem, id);
                    CREATE INDEX main.by_likeness ON o (alike) WHERE alike IS NOT NULL;
                    """)
        }
    }

    /// Calls `body` with pages of the icons that have a stem, sorted by stem and place.
    func forEachPage(_ body: ([ExportedIcon]) throws -> Void) throws {
        try database.forEachPage(
            { db, last in
                try PreparedStatement(
                    db,
                    """
                    SELECT \(ExportedIcon.columns) FROM o
                    WHERE (stem, id) > (?, ?) ORDER BY stem, id LIMIT 256
                    """
                ).rows(last?.stem ?? "", last?.id ?? 0, as: ExportedIcon.init)
            }, body)
    }

    func forEach(_ body: (ExportedIcon) throws -> Void) throws {
        try forEachPage { try $0.forEach(body) }
    }

    /// Whether an icon has that name, failed ones included.
    func has(_ stem: String) throws -> Bool {
        try database.hasRow("SELECT 1 FROM o WHERE stem = ? LIMIT 1", stem)
    }

    /// Whether an icon has a readable name that a file system may take for that one.
    func hasLike(_ stem: String) throws -> Bool {
        try database.hasRow("SELECT 1 FROM o WHERE alike = ? LIMIT 1", SafeName.folded(stem))
    }
}
