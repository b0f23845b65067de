/// What a verification read and found.
public struct VerifyReport: Sendable {
    /// What is wrong, or merely noticed, about one subject.
    public struct Finding: Sendable {
        /// The name of what was found.
        public enum Kind: String, Sendable, CaseIterable {
            /// The file's bytes do not have the digest that is its name.
            case corrupt
            /// The index has an object whose file is not there.
            case missing
            /// The file could not be read: that says nothing about its bytes.
            case unreadable
            /// The index itself is damaged.
            case index
            /// A whole object that no row mentions: left by a crash, to be swept by eviction.
            case orphaned
            /// An object's name in another object's directory.
            case misplaced
            /// Something in the tree that is not the cache's own.
            case foreign

            /// Whether the cache is not intact with it. The others are only reported.
            public var isCorruption: Bool {
                switch self {
                case .corrupt, .missing, .unreadable, .index: true
                case .orphaned, .misplaced, .foreign: false
                }
            }
        }

        /// The name of what was found.
        public let kind: Kind
        /// The path beneath the root, or the digest of a missing object.
        public let subject: String
        /// What exactly is the matter.
        public let message: String
        /// The URLs that resolve to the object.
        public var urls: [String] = []
    }

    /// Objects that were read.
    public internal(set) var objects = 0
    /// Bytes that were read.
    public internal(set) var bytes: Int64 = 0
    /// Objects whose bytes have their digest and whose row agrees.
    public internal(set) var whole = 0
    /// Resources in the index, each of whose objects was checked.
    public internal(set) var resources = 0
    /// Entries in `tmp/`: of runs under way, or leftovers.
    public internal(set) var temporaries = 0
    /// Everything found, in the order of its subject.
    public internal(set) var findings: [Finding] = []
    /// How long it took.
    public internal(set) var seconds: Double = 0

    /// The report on a cache that is not there: empty and clean.
    public init() {}

    /// How many findings there are of a kind.
    public func count(_ kind: Finding.Kind) -> Int { findings.count { $0.kind == kind } }

    /// Whether every object and row is whole.
    public var isClean: Bool { !findings.contains { $0.kind.isCorruption } }
}
