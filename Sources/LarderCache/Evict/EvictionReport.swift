import GRDB
import LarderCore

/// What an eviction removed, what it kept and why.
public struct EvictionReport: Sendable {
    /// Why an object is removed.
    public enum Reason: String, Sendable, CaseIterable {
        /// No manifest of ``EvictionPolicy/only`` names it.
        case only
        /// It was too old.
        case age
        /// There were too many bytes.
        case size
        /// There were too many objects.
        case count
        /// Too little was free on the disk.
        case free
    }

    /// Why an object that should be removed is kept.
    public enum Hold: String, Sendable, CaseIterable {
        /// A manifest of ``EvictionPolicy/keep`` names it.
        case manifest
        /// It is pinned.
        case pin
        /// A run in progress has stored or used it.
        case run
    }

    /// Files left over from interrupted runs.
    public enum Leftover: String, Sendable, CaseIterable {
        /// Objects that no row mentions.
        case orphans
        /// Directories of runs that have ended.
        case runs
        /// Interrupted bodies.
        case partials
        /// Files that a repair moved away.
        case quarantined
        /// Anything else in `tmp/`.
        case temporaries
    }

    /// An object that is removed.
    public struct Victim: Sendable, Equatable {
        /// The object's digest.
        public let digest: Digest
        /// Its size in bytes.
        public let size: Int64
        /// Why it is removed.
        public let reason: Reason
        /// The seconds since it was last used or stored, as the policy's order has it. 0 if only a
        /// wrong clock has recorded it.
        public internal(set) var age: Double = 0
        /// The first of the resources that resolve to it. Only in a dry run; nil if there is none.
        public internal(set) var first: Name?
        /// The number of resources that resolve to it. Only in a dry run.
        public internal(set) var resources = 0

        /// The key and URL of a resource.
        public struct Name: Sendable, Equatable {
            /// The key, as ``Resource/key`` has it.
            public let key: String
            /// The URL it was last fetched from, as ``Resource/url`` has it.
            public let url: String

            package var shownURL: String { url.shown(asURLOf: key) }
        }
    }

    /// Whether nothing was removed.
    public let isDryRun: Bool
    /// The removed objects, by reason.
    public internal(set) var evicted: [Reason: ObjectTally] = [:]
    /// The objects that should be removed and are kept.
    public internal(set) var held: [Hold: ObjectTally] = [:]
    /// The removed leftovers.
    public internal(set) var swept: [Leftover: ObjectTally] = [:]
    /// The objects that are left in the index.
    public internal(set) var left = ObjectTally()
    /// Whether it was cancelled before its end.
    public internal(set) var isInterrupted = false
    /// The number of forgotten failures, which were too old or too many.
    public internal(set) var forgottenFailures = 0
    /// Why it ended early: a failing disk, or another process's lock on the index. Or why files of
    /// removed objects are left, which a later run sweeps.
    public internal(set) var failure: CacheError?
    /// The limits that are not met at its end.
    public internal(set) var missed: [Reason] = []
    /// How long it took, in seconds.
    public internal(set) var seconds: Double = 0

    /// The report on a cache that does not exist: nothing to do.
    public init(isDryRun: Bool) { self.isDryRun = isDryRun }

    /// All removed objects.
    public var total: ObjectTally { evicted.values.reduce(into: ObjectTally(), +=) }

    var summary: String {
        let reasons = Reason.allCases.compactMap { reason in
            evicted[reason].map { "\(reason.rawValue): \($0.count)" }
        }
        let kept = held.values.reduce(0) { $0 + $1.count }
        return """
            \(isDryRun ? "would evict" : "evicted") \(total.count) objects (\(total.bytes) bytes\
            \(reasons.map { ", \($0)" }.joined())), kept \(kept), left \(left.count)
            """
    }
}
