import LarderCache
import LarderKit

// What the record of a run keeps of its report.

extension Report {
    /// The report's counts.
    var counts: [RunRecord.Count: Int64] {
        var counts: [RunRecord.Count: Int64] = [
            .entries: Int64(entries), .receivedBytes: receivedBytes,
        ]
        for outcome in EntryResult.Outcome.allCases {
            counts[outcome.recorded] = Int64(count(outcome))
        }
        counts[.pushed] = Int64(remote?.pushed ?? 0)
        counts[.unpushed] = Int64(remote?.unpushed ?? 0)
        return counts
    }
}

extension EntryResult.Outcome {
    fileprivate var recorded: RunRecord.Count {
        switch self {
        case .fetched: .fetched
        case .revalidated: .revalidated
        case .cached: .cached
        case .coalesced: .coalesced
        case .skipped: .skipped
        case .failed: .failed
        case .unfinished: .unfinished
        case .unstored: .unstored
        case .pulled: .pulled
        case .shared: .shared
        }
    }
}

extension VerifyReport {
    /// The report's counts.
    var counts: [RunRecord.Count: Int64] {
        [
            .objects: Int64(objects), .bytes: bytes, .whole: Int64(whole),
            .findings: Int64(findings.count + entryFindings.count),
            .damaged: Int64(findings.count(where: \.kind.isCorruption) + entryFindings.count),
            .repaired: Int64(repaired),
        ]
    }
}

extension EvictionReport {
    /// The report's counts.
    var counts: [RunRecord.Count: Int64] {
        [
            .evictedObjects: Int64(total.count), .evictedBytes: total.bytes,
            .kept: held.values.reduce(0) { $0 + Int64($1.count) },
            .swept: swept.values.reduce(0) { $0 + Int64($1.count) },
            .missed: Int64(missed.count), .objects: Int64(left.count), .bytes: left.bytes,
        ]
    }
}

extension RecoveryReport {
    /// The report's counts.
    var counts: [RunRecord.Count: Int64] {
        [.objects: Int64(objects), .resources: Int64(resources), .damaged: Int64(damaged)]
    }
}
