/// How many kills of a command fell where.
struct KillCounts: CustomStringConvertible {
    private var counts: [KillOutcome: Int] = [:]
    /// Rounds that broke a promise; they are counted nowhere else.
    var failures: [String] = []

    subscript(outcome: KillOutcome) -> Int { counts[outcome] ?? 0 }

    var rounds: Int { counts.values.reduce(0, +) }

    var description: String {
        """
        \(rounds) kills: \(self[.before]) before it had changed anything, \(self[.inside]) in the midst \
        of it, \(self[.after]) after all was done, \(self[.late]) too late
        """
    }

    mutating func add(_ outcome: KillOutcome) { counts[outcome, default: 0] += 1 }

    static func += (sum: inout KillCounts, more: KillCounts) {
        sum.counts.merge(more.counts, uniquingKeysWith: +)
        sum.failures += more.failures
    }
}
