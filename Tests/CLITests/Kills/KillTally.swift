import Foundation

/// Where the kills of a test run fell.
struct KillTally: CustomStringConvertible {
    var rounds = 0
    /// The run had ended by itself.
    var late = 0
    /// It had committed nothing of its own.
    var beforeCommits = 0
    /// It had committed some, and some were left.
    var betweenCommits = 0
    /// It had committed everything, and was still alive.
    var afterCommits = 0
    /// Objects had their names and no rows yet.
    var insideCommits = 0
    /// Its report had already called some stored.
    var reported = 0
    /// Its cache was not even made.
    var withoutCache = 0
    /// Rounds that broke a promise; they are counted nowhere else.
    var failures: [String] = []
    /// The fewest and the most rows that a killed run had committed.
    var rows: ClosedRange<Int>?

    var description: String {
        """
        \(rounds) kills: \(beforeCommits) before the first commit (\(withoutCache) before there was \
        a cache), \(betweenCommits) between commits, \(afterCommits) after the last, \(late) too \
        late; \(insideCommits) of them inside a commit, its objects renamed and not yet recorded; \
        \(reported) had reported some as stored; \
        rows committed by the killed: \(rows.map { "\($0.lowerBound) to \($0.upperBound)" } ?? "none")
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
