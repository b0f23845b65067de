import Foundation
import GRDB
import LarderCache

/// All icons of an export, in a temporary database: memory stays within bounds however many there
/// are. It is written once, then sorted, then read in order.
final class ExportList {
    private static let pageLimit = 256
    private let database: DatabaseQueue
    private var count: Int64 = 0

    init() throws {
        database = try Cache.scratchDatabase(at: nil, beside: nil)
        try database.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA main.cache_size = -4096;
                    CREATE TABLE main.o (
                        id INTEGER PRIMARY KEY, name TEXT NOT NULL, url TEXT, key TEXT NOT NULL,
                        stem TEXT, base TEXT, folded TEXT, alike TEXT,
                        digest BLOB, size INTEGER, media_type TEXT, width INTEGER, height INTEGER,
                        stored_at REAL, used_at REAL
                    );
                    """)
        }
    }

    /// What is known of an icon before it is in the list.
    struct Row {
        let name: String
        let url: String?
        let key: String
        let stem: String?
        /// The name for people that its own one is made of; nil where `stem` is it.
        let base: String?
        let object: StoredObject?
    }

    func add(_ rows: [Row]) throws {
        try database.inTransaction { db in
            let insert = try PreparedStatement(
                db, "INSERT INTO o VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, ?)")
            for row in rows {
                count += 1
                try insert.run {
                    $0.bind(count)
                    $0.bind(row.name)
                    $0.bind(row.url)
                    $0.bind(row.key)
                    $0.bind(row.stem)
                    $0.bind(row.base)
                    $0.bind(row.base.map(SafeName.folded))
                    $0.bind(row.object?.digest)
                    $0.bind(row.object?.size)
                    $0.bind(row.object?.mediaType)
                    $0.bind(row.object?.width)
                    $0.bind(row.object?.height)
                    $0.bind(row.object?.storedAt.timeIntervalSince1970)
                    $0.bind(row.object?.usedAt.timeIntervalSince1970)
                }
            }
            return .commit
        }
    }

    /// Gives each icon a name for people that no other has: the first its plain one, others one
    /// that tells them apart by their URL.
    func nameAll() throws {
        try database.writeWithoutTransaction {
            try $0.execute(sql: "CREATE INDEX main.by_base ON o (folded, id)")
        }
        var (folded, id): (String, Int64) = ("", 0)
        var first: (folded: String, identity: String, stem: String)?
        while true {
            let page = try database.read { db in
                try PreparedStatement(
                    db,
                    """
                    SELECT folded, id, base, coalesce(url, key) FROM o
                    WHERE (folded, id) > (?, ?) ORDER BY folded, id LIMIT \(Self.pageLimit)
                    """
                ).rows(folded, id) {
                    (
                        try $0.requireText(), $0.integer(), try $0.requireText(),
                        try $0.requireText()
                    )
                }
            }
            guard let last = page.last else { break }
            (folded, id) = (last.0, last.1)
            try database.inTransaction { db in
                let update = try PreparedStatement(
                    db, "UPDATE o SET stem = ?, alike = ? WHERE id = ?")
                for (folded, id, base, identity) in page {
                    var stem = SafeName.told(apart: base, by: identity)
                    if let first, first.folded.isSame(as: folded) {
                        // The same icon of the same name once more.
                        if first.identity.isSame(as: identity) { stem = first.stem }
                    } else {
                        if !SafeName.isTold(base) { stem = base }
                        first = (folded, identity, stem)
                    }
                    try update.run(stem, SafeName.folded(stem), id)
                }
                return .commit
            }
        }
    }

    /// Sorts the list by the names.
    func sort() throws {
        try database.writeWithoutTransaction {
            try $0.execute(
                sql: """
                    CREATE INDEX main.by_stem ON o (stem, id);
                    CREATE INDEX main.by_likeness ON o (alike) WHERE alike IS NOT NULL;
                    """)
        }
    }

    /// Hands over the icons that have a name, by that, and those of one name in their order.
    func forEach(_ body: (ExportedIcon) throws -> Void) throws {
        var (stem, id): (String, Int64) = ("", 0)
        while true {
            let page = try database.read { db in
                try PreparedStatement(
                    db,
                    """
                    SELECT \(ExportedIcon.columns) FROM o
                    WHERE (stem, id) > (?, ?) ORDER BY stem, id LIMIT \(Self.pageLimit)
                    """
                ).rows(stem, id, as: ExportedIcon.init)
            }
            guard let last = page.last else { return }
            (stem, id) = (last.stem ?? "", last.id)
            try page.forEach(body)
        }
    }

    /// Whether an icon has that name, failed ones included.
    func has(_ stem: String) throws -> Bool {
        try database.read { db in
            try PreparedStatement(db, "SELECT 1 FROM o WHERE stem = ? LIMIT 1")
                .firstInteger(stem) != nil
        }
    }

    /// Whether an icon has a name for people that a file system may take for that one.
    func hasLike(_ stem: String) throws -> Bool {
        try database.read { db in
            try PreparedStatement(db, "SELECT 1 FROM o WHERE alike = ? LIMIT 1")
                .firstInteger(SafeName.folded(stem)) != nil
        }
    }
}
