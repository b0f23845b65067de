import GRDB
import LarderCore

/// What an eviction took, what it left and why.
public struct EvictionReport: Sendable {
    /// Why an object goes.
    public enum Reason: String, Sendable, CaseIterable {
        /// It stands in no manifest that names the only ones to stay.
        case only
        /// It was too old.
        case age
        /// There were too many bytes.
        case size
        /// There were too many objects.
        case count
        /// Too little was free on the disk.
        case free

        /// Whether it is a limit, which may be out of reach.
        public var isLimit: Bool { self != .only && self != .age }
    }

    /// Why an object that should have gone stays.
    public enum Hold: String, Sendable, CaseIterable {
        /// A manifest names it whose resources are kept.
        case manifest
        /// It is pinned.
        case pin
        /// A run that is under way has stored or used it.
        case run
    }

    /// What was left behind by nobody's fault, and is nobody's.
    public enum Leftover: String, Sendable, CaseIterable {
        /// Objects that no row mentions.
        case orphans
        /// Directories of runs that have ended.
        case runs
        /// Interrupted bodies.
        case partials
        /// What was moved away by a repair.
        case quarantined
        /// What else lay in `tmp/`.
        case temporaries
    }

    /// One object that goes.
    public struct Victim: Sendable, Equatable {
        /// The object's digest.
        public let digest: Digest
        /// Its size in bytes.
        public let size: Int64
        /// Why it goes.
        public let reason: Reason
        /// How many seconds ago it was last used or stored, whichever the policy counts from; 0 if
        /// no clock that was right has recorded it.
        public internal(set) var age: Double = 0
        /// The first of the resources that resolve to it. Only in a dry run; nil if there is none.
        public internal(set) var first: Name?
        /// How many resources resolve to it. Only in a dry run.
        public internal(set) var resources = 0

        /// What a resource is called.
        public struct Name: Sendable, Equatable {
            /// What it is looked up by, as ``Resource/key`` has it.
            public let key: String
            /// The URL it was last fetched from, as ``Resource/url`` has it.
            public let url: String
        }
    }

    /// Whether nothing was removed.
    public let isDryRun: Bool
    /// What went, by reason.
    public internal(set) var evicted: [Reason: ObjectTally] = [:]
    /// What should have gone, and stays.
    public internal(set) var held: [Hold: ObjectTally] = [:]
    /// What was swept.
    public internal(set) var swept: [Leftover: ObjectTally] = [:]
    /// Objects that are left in the index, and the sum of their sizes.
    public internal(set) var left = ObjectTally()
    /// Whether it was cancelled before its end.
    public internal(set) var isInterrupted = false
    /// How many remembered failures were forgotten: they were too old, or too many.
    public internal(set) var forgottenFailures = 0
    /// What has ended it before its end: a failing disk, or another process's lock on the index. Or
    /// why files of objects that went are left: a later run sweeps them. Nil if there is nothing
    /// of that.
    public internal(set) var failure: CacheError?
    /// The limits that are not kept at its end, whoever has stored meanwhile.
    public internal(set) var missed: [Reason] = []
    /// How long it took.
    public internal(set) var seconds: Double = 0

    /// The report on a cache that is not there: there was nothing to do.
    public init(isDryRun: Bool) { self.isDryRun = isDryRun }

    /// Everything that went.
    public var total: ObjectTally { evicted.values.reduce(into: ObjectTally(), +=) }
}

extension EvictionReport.Victim.Name {
    /// Its URL as an output shows it.
    package var shownURL: String { url.shown(asURLOf: key) }
}
