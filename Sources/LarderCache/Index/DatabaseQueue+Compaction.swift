import GRDB

extension DatabaseQueue {
    /// Copies it into a new file without a free page, which can give back those that come free
    /// later.
    ///
    /// - Parameter path: in a directory of this run's own.
    ///
    /// The copy keeps no log, and is not made durable.
    func compact(into path: String) throws {
        try writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            try db.execute(sql: "VACUUM INTO ?", arguments: [DatabaseFile.draftURI(path)])
        }
    }
}
