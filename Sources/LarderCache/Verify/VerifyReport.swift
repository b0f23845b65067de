import LarderCore

/// What a verification read and found.
public struct VerifyReport: Sendable {
    /// The steps of a verification, in order.
    public enum Step: String, Sendable, CaseIterable {
        /// SQLite's own check of the index.
        case index
        /// The comparison of manifests with the index.
        case manifests
        /// Reading the objects, and comparing them with their rows.
        case objects
        /// Looking up the URLs of what was found.
        case resources
        /// Quarantine, and whatever else needs no network.
        case repair
        /// Fetching again.
        case fetch
    }

    /// Objects that were looked at.
    public internal(set) var objects = 0
    /// Bytes that were read.
    public internal(set) var bytes: Int64 = 0
    /// Objects whose bytes have their digest and whose row agrees; in a quick verification, whose
    /// size is the row's.
    public internal(set) var whole = 0
    /// Resources in the index.
    public internal(set) var resources = 0
    /// Elements of the manifests.
    public package(set) var entries = 0
    /// Objects that the index has, of those selected.
    public internal(set) var indexObjects = 0
    /// The sum of the sizes that the index states for them.
    public internal(set) var indexBytes: Int64 = 0
    /// Objects' files that the tree has in their place, of those selected.
    public internal(set) var treeObjects = 0
    /// The sum of their sizes.
    public internal(set) var treeBytes: Int64 = 0
    /// Entries in `tmp/`: of runs under way, or leftovers.
    public internal(set) var temporaries = 0
    /// Those of them that no run under way has: left by runs that were killed, or foreign.
    public internal(set) var leftovers = 0
    /// Whether only files of another size than the index states were read.
    public internal(set) var isQuick = false
    /// Whether it went on where an earlier verification had stopped.
    public internal(set) var isResumed = false
    /// Whether it came to the end of the selection, and was not cancelled or out of time.
    public internal(set) var reachesEnd = true
    /// Whether everything selected was looked at, and by this verification alone.
    public var isComplete: Bool { reachesEnd && !isResumed }
    /// Whether it, or the repair that followed, was cancelled before its end.
    public package(set) var isInterrupted = false
    /// Why it could not go on: the disk fails. Nil if it could.
    public package(set) var failure: CacheError?
    /// Everything found about objects and the index, in the order of its subject.
    public package(set) var findings: [Finding] = []
    /// Everything found about entries of manifests.
    public package(set) var entryFindings = EntryFindings()
    /// What was fetched again.
    public package(set) var refetches: [Refetch] = []
    /// The duration of each step in seconds, 0 if there was nothing to do. The index is checked
    /// beside the objects.
    public package(set) var steps: [Step: Double] = [:]
    /// How long it took in all, in seconds.
    public package(set) var seconds: Double = 0
    /// The names of the manifests that it was limited to.
    public package(set) var manifests: [String] = []
    /// What their entries demand of bad objects' bytes, by the resource's key.
    package var demands: [String: Set<Demand>] = [:]

    /// The report on a cache that is not there: empty and clean.
    public init() {}

    /// The bytes that an entry of a manifest demands; both nil if it takes any.
    package struct Demand: Hashable, Sendable {
        package let digest: Digest?
        package let size: Int64?

        package init(digest: Digest?, size: Int64?) {
            self.digest = digest
            self.size = size
        }
    }

    /// How many findings there are of a kind.
    public func count(_ kind: Finding.Kind) -> Int {
        findings.count { $0.kind == kind } + (kind == .missing ? entryFindings.count : 0)
    }

    /// Whether every object and row was found whole, and every entry is cached.
    public var isClean: Bool {
        entryFindings.count == 0 && !findings.contains { $0.kind.isCorruption }
    }

    /// How many findings were repaired.
    public var repaired: Int { findings.count { $0.isRepaired } }

    /// Whether every object and row is whole now: found so, or repaired.
    public var isSound: Bool {
        entryFindings.count == 0 && findings.allSatisfy { !$0.kind.isCorruption || $0.isRepaired }
    }

    package mutating func sort() {
        findings.sort { ($0.subject, $0.kind.rawValue) < ($1.subject, $1.kind.rawValue) }
    }

    package mutating func time<Failure: Error>(
        _ step: Step, _ body: (inout VerifyReport) throws(Failure) -> Void
    ) throws(Failure) {
        let start = ContinuousClock.now
        defer { note(step, since: start) }
        try body(&self)
    }

    package mutating func note(
        _ step: Step, since start: ContinuousClock.Instant,
        until end: ContinuousClock.Instant = .now
    ) {
        let taken = (end - start) / .seconds(1)
        steps[step, default: 0] += taken
        seconds += taken
    }

    mutating func add(_ other: VerifyReport) {
        objects += other.objects
        bytes += other.bytes
        whole += other.whole
        indexObjects += other.indexObjects
        indexBytes += other.indexBytes
        treeObjects += other.treeObjects
        treeBytes += other.treeBytes
        findings += other.findings
    }

    /// What is wrong, or merely noticed, about one subject.
    public struct Finding: Sendable {
        /// The name of what was found.
        public enum Kind: String, Sendable, CaseIterable {
            /// The file's bytes do not have the digest that is its name.
            case corrupt
            /// An object's file does not exist, or an entry of a manifest is not cached.
            case missing
            /// The file could not be read: that says nothing about its bytes.
            case unreadable
            /// A symbolic link in the place of an object that the index has; never followed.
            case link
            /// The index itself is damaged.
            case index
            /// Something else in the place of a directory of objects: none can be stored.
            case obstructed
            /// An object that no row mentions: left by a crash, to be swept by eviction.
            case orphaned
            /// An object's name in another object's directory.
            case misplaced
            /// Something in the tree that is not the cache's own. A repair leaves it, but for a
            /// directory by an object's name, in whose place the object could not be stored.
            case foreign
            /// A whole object that is not read-only for everyone (0444): copying may do that.
            case mode

            /// Whether the cache is not intact with it. The others are only reported.
            public var isCorruption: Bool {
                switch self {
                case .corrupt, .missing, .unreadable, .link, .index, .obstructed: true
                case .orphaned, .misplaced, .foreign, .mode: false
                }
            }
        }

        /// What a repair came to.
        public enum Repair: String, Sendable, CaseIterable {
            /// It is as it should be, with the same bytes.
            case restored
            /// What was fetched again has other bytes by now.
            case changed
            /// It was taken away, and no URL needs it.
            case removed
            /// It was taken away, and its URLs could not all be fetched again. The index keeps
            /// those as damaged, so that the next repair or prefetch asks for them.
            case lost
        }

        /// The name of what was found.
        public let kind: Kind
        /// The file's path beneath the root, or the place of a manifest's entry.
        public let subject: String
        /// What exactly is the matter.
        public let message: String
        /// The object concerned, if it is one.
        public let digest: Digest?
        /// The URLs that resolve to the object.
        public package(set) var urls: [String]
        /// What a repair came to; nil if there was none.
        public package(set) var repair: Repair?
        /// Where the file is now, if it was moved to `quarantine/`: its path beneath the root.
        public package(set) var quarantine: String?

        package init(
            _ kind: Kind, _ subject: String, _ message: String, digest: Digest? = nil,
            urls: [String] = []
        ) {
            self.kind = kind
            self.subject = subject
            self.message = message
            self.digest = digest
            self.urls = urls
        }

        package init(damaged digest: Digest?, urls: [String]) {
            self.init(
                .missing, digest.map(CacheLayout.path) ?? CacheLayout.index,
                "was damaged, and is not fetched again yet", digest: digest, urls: urls)
        }

        package var isRepaired: Bool { repair.map { $0 != .lost } ?? false }
    }
}
