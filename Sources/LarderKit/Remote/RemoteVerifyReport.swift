import LarderCache

/// What a verification of a remote found.
public struct RemoteVerifyReport: Sendable, TierRunReport {
    /// Something that is not as it should be.
    public struct Finding: Sendable {
        /// What is wrong.
        public enum Kind: String, Sendable, CaseIterable {
            /// The object's bytes are others than its name says.
            case corrupt
            /// References lead to the object, and it is not there.
            case missing
            /// The object is there, and the store cannot read it.
            case unreadable
        }

        /// What became of it.
        public enum Repair: String, Sendable, CaseIterable {
            /// The object was written anew, from the cache of this machine.
            case restored
            /// The references, and the object, were removed: the next prefetch fetches it again.
            case removed
        }

        /// What is wrong.
        public let kind: Kind
        /// The object.
        public let digest: Digest
        /// How many references lead to it.
        public internal(set) var references: Int
        /// Nil if it was not to be repaired.
        public internal(set) var repair: Repair?
    }

    /// So many are told one by one; all are counted.
    public static let findingLimit = 1000

    /// The remote, as `s3://bucket/prefix`.
    public internal(set) var location: String
    /// Objects that were read.
    public internal(set) var objects = 0
    /// The sum of their sizes.
    public internal(set) var bytes: Int64 = 0
    /// References that were looked at.
    public internal(set) var references = 0
    /// How many there are of each kind.
    public internal(set) var counts: [Finding.Kind: Int] = [:]
    /// How many were repaired.
    public internal(set) var repaired = 0
    /// The first of them.
    public internal(set) var findings: [Finding] = []
    /// Names in the places of objects and references that are neither's; they are left alone. What
    /// lies elsewhere is not listed.
    public internal(set) var foreign = 0
    /// Objects that nothing refers to.
    public internal(set) var unreferenced = 0
    /// Seconds that it took.
    public internal(set) var seconds: Double = 0
    /// Whether it was cancelled.
    public internal(set) var isInterrupted = false

    init(location: String) { self.location = location }

    /// Whether all that was looked at is whole, or was repaired.
    public var isSound: Bool { counts.values.reduce(0, +) == repaired }
}
