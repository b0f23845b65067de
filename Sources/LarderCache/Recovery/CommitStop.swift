import GRDB

/// Keeps everybody from committing to an index for as long as it holds: what is committed between
/// the copy of its rows and its replacement would be lost with it.
struct CommitStop {
    private let database: DatabaseQueue

    /// - Throws: `DatabaseError`, `SQLITE_BUSY` if somebody goes on writing for longer than
    ///   `wait`.
    init(at file: DatabaseFile, wait: WriterWait) throws {
        var configuration = Configuration()
        configuration.busyMode = .callback(wait.goesOn)
        configuration.allowsUnsafeTransactions = true
        database = try file.open(.writing, configuration)
        try database.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
    }

    func end() {
        try? database.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try? database.close()
    }
}
