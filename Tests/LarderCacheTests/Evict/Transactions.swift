import GRDB

/// How many rows each transaction of a database has changed, those that went with others included.
final class Transactions: TransactionObserver {
    private(set) var rows: [Int] = []
    /// Called after each.
    var onCommit: () -> Void = {}
    private var total: Int

    init(of database: any DatabaseWriter) {
        total = database.writeWithoutTransaction { $0.totalChangesCount }
        database.add(transactionObserver: self)
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidRollback(_ db: Database) {}

    func databaseDidCommit(_ db: Database) {
        rows.append(db.totalChangesCount - total)
        total = db.totalChangesCount
        onCommit()
    }
}
