import GRDB

/// An observer that counts the rows changed by each transaction, including cascaded deletions.
final class Transactions: TransactionObserver {
    private(set) var rows: [Int] = []
    /// Called after each transaction.
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
