/// The icons of a report that were skipped or have failed: all are counted, the first are kept.
public struct IconProblems<Code: ProblemReason>: Sendable {
    /// How many failures are kept in words: 100.
    public static var limit: Int { 100 }

    /// How many there are of each reason.
    public private(set) var counts: [Code: Int] = [:]
    /// The first that failed.
    public private(set) var failures: [IconProblem<Code>] = []

    /// Icons that were skipped.
    public var skipped: Int { count { $0.isSkip } }
    /// Icons that failed.
    public var failed: Int { count { !$0.isSkip } }

    private func count(_ isCounted: (Code) -> Bool) -> Int {
        counts.reduce(0) { isCounted($1.key) ? $0 + $1.value : $0 }
    }

    mutating func note(_ problem: IconProblem<Code>) {
        counts[problem.code, default: 0] += 1
        if !problem.code.isSkip, failures.count < Self.limit { failures.append(problem) }
    }
}
