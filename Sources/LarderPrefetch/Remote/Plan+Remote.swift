import Foundation
import GRDB
import LarderCache
import LarderCore

extension Plan {
    typealias Shareable = (
        id: Int64, key: String, url: String, hasCredentials: Bool, known: RemoteStore.Known?,
        isUsable: Bool
    )

    /// Lists all resources to look up, except inline icons. Must precede the first report.
    func prepareRemote() throws {
        let parts = origins.map { Part(ofHost: (try? HTTPURL($0))?.host ?? "").number }
        try database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE main.wanted (part INTEGER NOT NULL, name BLOB NOT NULL,
                        fetch INTEGER NOT NULL);
                    CREATE TABLE main.found (fetch INTEGER NOT NULL, digest BLOB NOT NULL,
                        modified REAL NOT NULL, is_usable INTEGER NOT NULL DEFAULT 1);
                    CREATE TABLE main.present (fetch INTEGER PRIMARY KEY);
                    """)
            let insert = try db.prepared("INSERT INTO wanted VALUES (?, ?, ?)")
            let present = try db.prepared("INSERT INTO present VALUES (?)")
            try db.prepared(
                """
                SELECT e.id, e.key, e.origin
                FROM main.entries e LEFT JOIN settled s ON s.fetch = e.id
                    LEFT JOIN inline i ON i.fetch = e.id
                WHERE e.key IS NOT NULL AND e.leader IS NULL AND s.fetch IS NULL
                    AND i.fetch IS NULL
                ORDER BY e.id
                """
            ).forEach { row in
                let (id, key) = (row.integer(), try row.requireText())
                let origin = Int(row.integer())
                let part = ResourceKey.isSpelledOut(key) ? Part(ofKey: key).number : parts[origin]
                try insert.run(Int64(part), Digest(of: Array(key.utf8)), id)
                if pendingStatus(of: id) == nil { try present.run(id) }
            }
            try db.execute(sql: "CREATE INDEX main.wanted_by_name ON wanted (part, name, fetch)")
        }
    }

    func wantedParts() throws -> [UInt8] {
        try read("SELECT DISTINCT part FROM wanted ORDER BY part") {
            try $0.rows { UInt8(truncatingIfNeeded: $0.integer()) }
        }
    }

    func wantedNames(in part: UInt8, after last: Digest?) throws -> [Digest] {
        try database.unsafeRead { db in
            try db.prepared(
                "SELECT name FROM wanted WHERE part = ? AND name > ? ORDER BY part, name LIMIT ?"
            ).rows(Int64(part), Data(last?.bytes ?? []), Self.pageLimit) { try $0.requireDigest() }
        }
    }

    func note(found: [RemoteStore.ListedReference], in part: UInt8) throws {
        if found.isEmpty { return }
        try database.write { db in
            let insert = try db.prepared(
                """
                INSERT INTO found (fetch, digest, modified)
                SELECT fetch, ?, ? FROM wanted WHERE part = ? AND name = ?
                """)
            for reference in found {
                let (known, name) = (reference.known, reference.name.name)
                try insert.run(
                    known.digest, known.modified.timeIntervalSince1970, Int64(part), name)
            }
        }
    }

    func orderFound() throws {
        let index = "DROP TABLE main.wanted; CREATE INDEX main.found_by_fetch ON found (fetch)"
        try database.execute(index)
    }

    func markUnusable(_ fetch: Int64) throws {
        let update = "UPDATE found SET is_usable = 0 WHERE fetch = ?"
        try database.write { try $0.prepared(update).run(fetch) }
    }

    /// Records pending resources that share an earlier one's object. Returns whether any exist.
    func noteTwins() throws -> Bool {
        try database.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    CREATE TABLE main.twins (fetch INTEGER PRIMARY KEY);
                    INSERT OR IGNORE INTO main.twins
                    SELECT fetch FROM (
                        SELECT r.fetch AS fetch, row_number() OVER (
                            PARTITION BY r.digest ORDER BY ~e.priority, e.id) AS number
                        FROM found r CROSS JOIN entries e ON e.id = r.fetch
                        WHERE r.fetch NOT IN (SELECT fetch FROM present))
                    WHERE number > 1
                    """)
            return db.changesCount > 0
        }
    }

    typealias FoundFetch = (fetch: PlannedResource, known: RemoteStore.Known)

    func foundFetches(areTwins: Bool, after last: PlannedResource.Place?) throws -> [FoundFetch] {
        var place = last
        while !Task.isCancelled, case let page = try places(after: place), let end = page.last {
            place = end
            let found: [FoundFetch] = try database.unsafeRead { db in
                let select = try db.prepared(
                    """
                    SELECT digest, modified FROM found
                    WHERE fetch = ?1 AND (fetch IN (SELECT fetch FROM twins)) = ?2
                    """)
                let pending = page.map(\.fetch).filter { pendingStatus(of: $0) != nil }
                let all = try pending.compactMap { id in
                    try select.rows(id, areTwins, as: Self.known).first.map { (id: id, known: $0) }
                }
                return zip(try fetches(all.map(\.id), in: db), all).map { ($0, $1.known) }
            }
            if !found.isEmpty { return found }
        }
        return []
    }

    func shareables(_ fetches: [Int64]) throws -> [Shareable] {
        try read(Self.selectShareable + " WHERE e.id = ?") { select in
            try fetches.flatMap { try select.rows($0, as: Self.shareable) }
        }
    }

    func cachedShareables(after last: Int64) throws -> [Shareable] {
        let page = " JOIN present n ON n.fetch = e.id WHERE n.fetch > ? ORDER BY n.fetch LIMIT ?"
        return try read(Self.selectShareable + page) {
            try $0.rows(last, Self.pageLimit, as: Self.shareable)
        }
    }

    private static let selectShareable = """
        SELECT e.id, r.is_usable, e.key, e.url, e.credentials IS NOT NULL, r.digest, r.modified
        FROM main.entries e LEFT JOIN found r ON r.fetch = e.id
        """

    private static func shareable(_ row: inout RowReader) throws -> Shareable {
        let (id, isUsable, key) = (row.integer(), row.bool(), try row.requireText())
        let (url, hasCredentials) = (row.text() ?? key, row.bool())
        return (id, key, url, hasCredentials, try row.optional(known), isUsable)
    }

    private static func known(_ row: inout RowReader) throws -> RemoteStore.Known {
        RemoteStore.Known(
            digest: try row.requireDigest(), modified: Date(timeIntervalSince1970: row.double()))
    }
}
