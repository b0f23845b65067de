/// The number of kills of a command by outcome.
struct KillCounts: CustomStringConvertible {
    private var counts: [KillOutcome: Int] = [:]
    /// Rounds that broke a promise. They are not counted elsewhere.
    var failures: [String] = []

    subscript(outcome: KillOutcome) -> Int { counts[outcome] ?? 0 }

    var rounds: Int { counts.values.reduce(0, +) }

    var description: String {
        """
        \(rounds) kills: \(self[.before]) before any change, \(self[.inside]) during the work, \
        \(self[.after]) after all the work, \(self[.late]) too late
        """
    }

    mutating func add(_ outcome: KillOutcome) { counts[outcome, default: 0] += 1 }

    static func += (sum: inout KillCounts, more: KillCounts) {
        sum.counts.merge(more.counts, uniquingKeysWith: +)
        sum.failures += more.failures
    }
}
