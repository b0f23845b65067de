import GRDB
import LarderCore

/// The objects that an eviction removed and kept, with the reasons.
public struct EvictionReport: Sendable {
    /// The reason why an object is removed.
    public enum Reason: String, Sendable, CaseIterable {
        /// The object is not in ``EvictionPolicy/only``.
        case only
        /// The object exceeds ``EvictionPolicy/maximumAge``.
        case age
        /// The cache exceeds ``EvictionPolicy/maximumBytes``.
        case size
        /// The cache exceeds ``EvictionPolicy/maximumObjects``.
        case count
        /// The disk has less free space than ``EvictionPolicy/minimumFree``.
        case free
    }

    /// The reason for keeping an object that would otherwise be removed.
    public enum Hold: String, Sendable, CaseIterable {
        /// The object is in ``EvictionPolicy/keep``.
        case manifest
        /// The object is pinned.
        case pin
        /// A run in progress has stored or used the object.
        case run
    }

    /// Files left over from interrupted runs.
    public enum Leftover: String, Sendable, CaseIterable {
        /// Objects without an index row.
        case orphans
        /// Directories of runs that have ended.
        case runs
        /// Partial response bodies.
        case partials
        /// Files that a repair moved to `quarantine/`.
        case quarantined
        /// Other entries in `tmp/`.
        case temporaries
    }

    /// A removed object.
    public struct Victim: Sendable, Equatable {
        /// The object's digest.
        public let digest: Digest
        /// The object's size in bytes.
        public let size: Int64
        /// The reason for the removal.
        public let reason: Reason
        /// The seconds since the last use or storage, depending on the order; 0 if unknown.
        public internal(set) var age: Double = 0
        /// The object's first resource. Set only by a dry run.
        public internal(set) var first: Name?
        /// The number of the object's resources. Set only by a dry run.
        public internal(set) var resources = 0
        var rank: Int64 = 0
        var object: Int64 = 0
        var usedAt: Double = 0
        var room: Int64 = 0

        /// The key and URL of a resource.
        public struct Name: Sendable, Equatable {
            /// The key (``Resource/key``).
            public let key: String
            /// The URL of the last download (``Resource/url``).
            public let url: String
            package var shownURL: String { url.shown(asURLOf: key) }
        }
    }

    /// Whether the eviction was a dry run.
    public let isDryRun: Bool
    /// The removed objects, by reason.
    public internal(set) var evicted: [Reason: ObjectTally] = [:]
    /// The kept objects that would otherwise be removed, by reason.
    public internal(set) var held: [Hold: ObjectTally] = [:]
    /// The removed leftover files, by kind.
    public internal(set) var swept: [Leftover: ObjectTally] = [:]
    /// The objects that remain in the index.
    public internal(set) var left = ObjectTally()
    /// Whether the eviction was cancelled.
    public internal(set) var isInterrupted = false
    /// The number of removed failure records.
    public internal(set) var forgottenFailures = 0
    /// The error that ended the eviction early or prevented the removal of files.
    public internal(set) var failure: CacheError?
    /// The limits that the cache still exceeds.
    public internal(set) var missed: [Reason] = []
    /// The duration in seconds.
    public internal(set) var seconds: Double = 0

    /// The number and size of all removed objects.
    public var total: ObjectTally { evicted.values.reduce(into: ObjectTally(), +=) }
    package var kept: Int { held.values.reduce(0) { $0 + $1.count } }

    var summary: String {
        let reasons = Reason.allCases.compactMap { reason in
            evicted[reason].map { "\(reason.rawValue): \($0.count)" }
        }
        return """
            \(isDryRun ? "would evict" : "evicted") \(total.count) objects (\(total.bytes) bytes\
            \(reasons.map { ", \($0)" }.joined())), kept \(kept), remaining \(left.count)
            """
    }
}
