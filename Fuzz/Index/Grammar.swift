import GRDB

/// SQL statements that change an index in ways that larder never does. Four bytes select the
/// statement, table, column and value.
struct Grammar {
    private static let statements = [
        "UPDATE TABLE_ SET COLUMN_ = VALUE_", "UPDATE TABLE_ SET COLUMN_ = VALUE_ WHERE id = 1",
        "UPDATE OR REPLACE TABLE_ SET COLUMN_ = VALUE_ WHERE rowid % 2",
        "INSERT INTO TABLE_ (COLUMN_) VALUES (VALUE_)", "DELETE FROM TABLE_",
        "DROP TABLE TABLE_", "ALTER TABLE TABLE_ RENAME TO aside",
        "ALTER TABLE TABLE_ RENAME COLUMN COLUMN_ TO aside",
        "ALTER TABLE TABLE_ ADD COLUMN more DEFAULT VALUE_",
        "ALTER TABLE TABLE_ DROP COLUMN COLUMN_",
        """
        CREATE VIEW TABLE_ AS WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
        SELECT x AS id, x AS key, x AS identifier, x AS COLUMN_ FROM c
        """,
        "CREATE VIEW TABLE_ AS SELECT * FROM aside", "CREATE TABLE TABLE_ (id, COLUMN_)",
        "CREATE TABLE more (COLUMN_ DEFAULT (VALUE_))",
        "CREATE TABLE more (id, x AS (abs(-9223372036854775807 - 1)))",
        "CREATE TRIGGER t AFTER UPDATE ON TABLE_ BEGIN DELETE FROM resources; END",
        "CREATE TRIGGER t AFTER DELETE ON TABLE_ BEGIN INSERT INTO TABLE_ SELECT * FROM TABLE_; END",
        "CREATE INDEX more ON TABLE_ (COLUMN_)", "CREATE INDEX more ON TABLE_ (abs(COLUMN_))",
        "CREATE VIRTUAL TABLE more USING fts5 (a)",
        "CREATE VIRTUAL TABLE more USING rtree (a, b, c)",
        "ANALYZE", "UPDATE sqlite_stat1 SET stat = VALUE_", "UPDATE sqlite_stat1 SET idx = VALUE_",
        "UPDATE sqlite_master SET sql = VALUE_ WHERE name = 'TABLE_'",
        "UPDATE sqlite_master SET sql = replace(sql, 'COLUMN_', VALUE_)",
        "UPDATE sqlite_master SET rootpage = VALUE_ WHERE tbl_name = 'TABLE_'",
        """
        UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'objects')
        WHERE name = 'TABLE_'
        """,
        "UPDATE sqlite_master SET type = VALUE_ WHERE name = 'TABLE_'",
        "UPDATE sqlite_master SET name = VALUE_ WHERE name = 'TABLE_'",
        "UPDATE sqlite_master SET tbl_name = VALUE_ WHERE name = 'TABLE_'",
        "INSERT INTO sqlite_master VALUES ('index', 'sqlite_autoindex_TABLE__2', 'TABLE_', 3, NULL)",
        "INSERT INTO sqlite_master SELECT * FROM sqlite_master WHERE name = 'TABLE_'",
        "DELETE FROM sqlite_master WHERE name = 'TABLE_'",
        "DELETE FROM sqlite_master WHERE type = 'index' AND tbl_name = 'TABLE_'",
        "PRAGMA writable_schema = RESET", "PRAGMA user_version = VALUE_",
        "PRAGMA application_id = VALUE_", "PRAGMA schema_version = VALUE_",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA page_size = 512; PRAGMA journal_mode = DELETE; VACUUM",
        "PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = DELETE; VACUUM",
        "PRAGMA auto_vacuum = NONE; PRAGMA journal_mode = DELETE; VACUUM",
    ]

    private static let tables = [
        "objects", "resources", "failures", "pins", "grdb_migrations", "sqlite_stat1", "aside",
        "more", "resources_by_object", "sqlite_autoindex_objects_1",
    ]

    private static let columns = [
        "id", "digest", "size", "media_type", "width", "stored_at", "used_at", "key", "url",
        "object", "etag", "cache_control", "age", "received_at", "fresh_until", "vary", "variant",
        "response_url", "code", "status", "failed_at", "count", "pinned_at", "identifier", "more",
    ]

    private static let values = [
        "NULL", "0", "-1", "1", "2", "9223372036854775807", "-9223372036854775807 - 1",
        "4294967296", "1099511627776", "9e999", "-9e999", "1e300", "-0.5", "''", "'never'",
        "x''", "x'00ff'", "zeroblob(32)", "zeroblob(20000)", "char(27) || '[31m' || char(10)",
        "char(0) || 'a'", "'ni:///sha-256;AAAA'", "'http://a/1'", "'key:x'",
        "CAST(x'ff80' AS TEXT)",
        "'CREATE TABLE x (a'", "'CREATE VIEW objects AS SELECT 1'", "'table'", "'view'",
        "'trigger'",
        "'index'", "'1000: of a time to come'", "'4: keys apart from URLs'", "TEXT_",
    ]

    private let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// Executes the statements on tables without constraints. Ignores errors.
    func apply(to path: String) throws {
        let queue = try DatabaseQueue(path: path)
        queue.inDatabase { db in
            let prelude = """
                PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;
                PRAGMA synchronous = OFF; PRAGMA writable_schema = ON
                """
            try? db.execute(sql: prelude)
            let made = (try? Row.fetchAll(db, sql: "SELECT name, sql FROM sqlite_master")) ?? []
            try? db.execute(
                sql: """
                    UPDATE sqlite_master SET sql =
                        replace(replace(replace(sql, 'STRICT, ', ''), 'STRICT', ''), ' NOT NULL', '');
                    PRAGMA writable_schema = RESET
                    """)
            try? db.execute(sql: prelude)
            var rest = bytes.prefix(4 * 16)
            while rest.count >= 4 {
                try? db.execute(sql: statement(Array(rest.prefix(4))))
                rest = rest.dropFirst(4)
            }
            // Half of the inputs restore the original schema texts.
            guard bytes.count % 2 == 0 else { return }
            for row in made {
                let arguments: StatementArguments = [row[1] as String?, row[0] as String]
                try? db.execute(
                    sql: "UPDATE sqlite_master SET sql = ? WHERE name = ?", arguments: arguments)
            }
        }
        try? queue.close()
    }

    private func statement(_ choice: [UInt8]) -> String {
        func chosen(_ list: [String], _ place: Int) -> String {
            list[Int(choice[place]) % list.count]
        }
        // The bytes after the statements are a text value.
        let text = String(decoding: bytes.dropFirst(4 * 16), as: UTF8.self)
            .filter { $0 != "\0" }.replacing("'", with: "''")
        return chosen(Self.statements, 0).replacing("TABLE_", with: chosen(Self.tables, 1))
            .replacing("COLUMN_", with: chosen(Self.columns, 2))
            .replacing("VALUE_", with: chosen(Self.values, 3).replacing("TEXT_", with: "'\(text)'"))
    }
}
