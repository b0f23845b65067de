import GRDB

extension Database {
    /// What SQLite's own check of the file's structure complains of; nothing if it is sound.
    ///
    /// - Parameters:
    ///   - isQuick: whether rows are not compared with the indices over them.
    ///   - limit: the most complaints.
    func complaints(isQuick: Bool, limit: Int) throws -> [String] {
        try PreparedStatement(self, "PRAGMA \(isQuick ? "quick" : "integrity")_check(\(limit))")
            .rows { $0.text(0) ?? "" }.filter { $0 != "ok" }
    }
}

extension DatabaseError {
    /// What SQLite itself does not find wrong with a file.
    static func corruption(_ message: String, sql: String? = nil) -> DatabaseError {
        DatabaseError(resultCode: .SQLITE_CORRUPT, message: message, sql: sql)
    }
}
