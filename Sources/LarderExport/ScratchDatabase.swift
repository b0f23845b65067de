import GRDB
import LarderCache

// Temporary databases, which keep memory limited for any number of icons.

extension DatabaseQueue {
    static let pageLimit = 500

    static func scratch(_ schema: String) throws -> DatabaseQueue {
        let database = try Cache.scratchDatabase(at: nil, beside: nil)
        try database.writeWithoutTransaction {
            try $0.execute(sql: "PRAGMA main.cache_size = -2048;\n\(schema)")
        }
        return database
    }

    func run<Row>(
        _ sql: String, for rows: some Sequence<Row>, _ values: (Row) -> [any SQLiteValue]
    ) throws {
        try inTransaction { db in
            let statement = try db.prepared(sql)
            for row in rows {
                let list = values(row)
                try statement.run { parameters in list.forEach { parameters.bind($0) } }
            }
            return .commit
        }
    }

    func hasRow(_ sql: String, _ value: some SQLiteValue) throws -> Bool {
        try read { try $0.prepared(sql).firstInteger(value) != nil }
    }

    /// Calls `body` with each page. `page` reads the page after a row, or the first page for nil.
    func forEachPage<Row>(
        _ page: (Database, Row?) throws -> [Row], _ body: ([Row]) throws -> Void
    ) throws {
        var last: Row?
        repeat {
            let rows = try read { try page($0, last) }
            if !rows.isEmpty { try body(rows) }
            last = rows.last
        } while last != nil
    }

    /// Calls `body`, which must not use this database, with each row.
    func forEachRow(_ sql: String, _ body: (inout RowReader) throws -> Void) throws {
        try unsafeRead { try $0.prepared(sql).forEach(body: body) }
    }
}
