import Foundation

/// Counts of kills of a prefetch, by progress.
struct KillTally: CustomStringConvertible {
    var rounds = 0
    /// Runs that had already ended.
    var late = 0
    /// Runs that had committed nothing.
    var beforeCommits = 0
    /// Runs that had committed some entries, but not all.
    var betweenCommits = 0
    /// Runs that had committed everything, but had not ended.
    var afterCommits = 0
    /// Runs killed inside a commit: objects had their names, but no rows yet.
    var insideCommits = 0
    /// Runs whose report already listed entries as stored.
    var reported = 0
    /// Runs that had not created the cache.
    var withoutCache = 0
    /// Rounds that broke a promise. They are not counted elsewhere.
    var failures: [String] = []
    /// The fewest and the most rows that a killed run had committed.
    var rows: ClosedRange<Int>?

    var description: String {
        """
        \(rounds) kills: \(beforeCommits) before the first commit (\(withoutCache) without a \
        cache), \(betweenCommits) between commits, \(afterCommits) after the last, \(late) too \
        late; \(insideCommits) of them inside a commit, with objects but without rows; \
        \(reported) had reported entries as stored; \
        rows committed by killed runs: \(rows.map { "\($0.lowerBound) to \($0.upperBound)" } ?? "none")
        """
    }

    static func += (sum: inout KillTally, more: KillTally) {
        sum.rounds += more.rounds
        sum.late += more.late
        sum.beforeCommits += more.beforeCommits
        sum.betweenCommits += more.betweenCommits
        sum.afterCommits += more.afterCommits
        sum.insideCommits += more.insideCommits
        sum.reported += more.reported
        sum.withoutCache += more.withoutCache
        sum.rows = [sum.rows, more.rows].compactMap { $0 }.reduce(nil) { bounds, range in
            let bounds = bounds ?? range
            return min(
                bounds.lowerBound, range.lowerBound)...max(
                    bounds.upperBound, range.upperBound)
        }
        sum.failures += more.failures
    }
}
