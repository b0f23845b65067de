/// What a rehearsal has shown: a table, a scroll, and each strategy.
package struct RehearsalReport: Sendable {
    /// Rows of the table.
    package var rows: Int
    /// Different URLs of icons.
    package var urls: Int
    /// Rows without an icon that could be loaded.
    package var rowsWithoutIcon: Int
    /// Of these, rows of entries that are wrong.
    package var badEntries: Int
    /// The most rows that are visible at a time.
    package var visible: Int
    package var prefetchAhead: Int
    /// Bytes of images at which memory is short.
    package var memoryLimit: Int
    package var strategies: [StrategyReport]
    /// Strategies that were asked for, and not begun before a signal came.
    package var notRehearsed: [StrategyName]

    package init(
        _ rows: TableRows, badEntries: Int, visible: Int, prefetchAhead: Int, memoryLimit: Int,
        strategies: [StrategyReport], notRehearsed: [StrategyName] = []
    ) {
        self.rows = rows.count
        urls = rows.urlCount
        rowsWithoutIcon = rows.withoutIcon
        self.badEntries = badEntries
        self.visible = visible
        self.prefetchAhead = prefetchAhead
        self.memoryLimit = memoryLimit
        self.strategies = strategies
        self.notRehearsed = notRehearsed
    }

    /// Whether a signal ended it early.
    package var isInterrupted: Bool {
        !notRehearsed.isEmpty || strategies.contains(where: \.isInterrupted)
    }

    /// Whether every image that was wanted was to be had, and no row had another row's. A download
    /// may have failed for a row that was gone by then, or was only ahead.
    package var isSound: Bool {
        badEntries == 0
            && strategies.allSatisfy {
                $0.rows.wrong == 0 && $0.rows.failed == 0 && $0.link.failures == 0
            }
    }
}
