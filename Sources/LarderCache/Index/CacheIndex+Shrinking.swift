import GRDB

/// Gives the disk back what an eviction has made free in the index.
extension CacheIndex {
    /// Pages are moved so many at a time: others wait for it.
    private static let pagesPerStep = 100
    /// So many free pages stay, and a twentieth of all: the next run wants them.
    private static let sparePages = 64

    /// Moves what lies at the index's end into its free pages, and cuts off the end, a step at a
    /// time. An index that was made before it could do so stays as long as it is, until it is
    /// rebuilt.
    func shrink(unless isCancelled: () -> Bool) throws(CacheError) {
        while !isCancelled() {
            let free = try read { db in
                guard try Int.fetchOne(db, sql: "PRAGMA auto_vacuum") == 2 else { return 0 }
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                let free = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
                return free - max(Self.sparePages, pages / 20)
            }
            guard free > 0 else { return }
            // A power cut may undo it: nothing rests on it.
            try writeStep(isDurable: false) { db in
                let deadline = ContinuousClock.now + WriteStep.time
                // It goes page by page, a row each.
                let vacuum = try PreparedStatement(
                    db, "PRAGMA incremental_vacuum(\(min(free, Self.pagesPerStep)))")
                defer { vacuum.reset() }
                while try vacuum.step(), ContinuousClock.now < deadline {}
            }
        }
    }
}
