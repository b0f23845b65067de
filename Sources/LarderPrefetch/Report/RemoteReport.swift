/// What a run had to do with a remote.
public struct RemoteReport: Sendable {
    /// The remote, as `s3://bucket/prefix`.
    public let location: String
    /// URLs whose bytes came from it.
    public internal(set) var pulled = 0
    /// The bytes of those.
    public internal(set) var pulledBytes: Int64 = 0
    /// URLs that were stored in it, or whose references were renewed.
    public internal(set) var pushed = 0
    /// Bytes that were sent.
    public internal(set) var pushedBytes: Int64 = 0
    /// URLs that are in the cache and that it has already, as they are there or newer.
    public internal(set) var present = 0
    /// Cached URLs that could not be stored, or that an interrupted run did not reach.
    public internal(set) var unpushed = 0
    /// URLs that are not to be shared: `private`, or requested with credentials.
    public internal(set) var personal = 0
    /// Unusable objects and references, by the reason's name. Their origins were asked instead.
    public internal(set) var faults: [String: Int] = [:]
    /// The first of them, in words.
    public internal(set) var firstFault: String?
    /// Why nothing more was asked of it; nil if it did not come to that.
    public internal(set) var failure: String?

    init(location: String) { self.location = location }

    /// Whether everything is there that should be.
    public var isComplete: Bool { failure == nil && unpushed == 0 }
}
