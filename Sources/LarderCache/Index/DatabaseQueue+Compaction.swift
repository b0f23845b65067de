import GRDB

extension DatabaseQueue {
    /// Copies it into a new file without a free page, which can give back those that come free
    /// later.
    ///
    /// - Parameter file: A file that does not exist, in a directory of this run's own.
    ///
    /// The copy keeps no log, and is not made durable.
    func compact(into file: DatabaseFile) throws {
        file.make()
        try writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            try db.execute(sql: "VACUUM INTO ?", arguments: [file.draftURI])
        }
    }
}
