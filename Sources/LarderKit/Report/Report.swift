import LarderCache

/// What a run did: counted, never estimated, and in agreement with the results of its entries.
public struct Report: Sendable {
    /// Why a run ended before its end.
    public enum Stop: Sendable {
        /// ``Prefetcher/cancel()`` was called.
        case interrupted
        /// The cache failed: the disk is full or failing, or the directory is not usable.
        case cache(CacheError)
    }

    /// Elements in all manifests; the sum of all outcomes.
    public internal(set) var entries = 0
    /// How many entries had each outcome.
    public internal(set) var outcomes: [EntryResult.Outcome: Int] = [:]
    /// How many entries failed for each reason.
    public internal(set) var failures: [String: Int] = [:]
    /// Body bytes received.
    public internal(set) var receivedBytes: Int64 = 0
    /// The run's duration in seconds.
    public internal(set) var seconds: Double = 0
    /// Why the run ended before its end; nil where it did not.
    public internal(set) var stop: Stop?

    /// How many entries had an outcome.
    public func count(_ outcome: EntryResult.Outcome) -> Int { outcomes[outcome, default: 0] }

    mutating func add(_ result: EntryResult) {
        entries += 1
        outcomes[result.outcome, default: 0] += 1
        if result.outcome == .failed, let problem = result.problem {
            failures[problem.code, default: 0] += 1
        }
    }
}
