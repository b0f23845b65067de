/// What an eviction of a remote did, or would do.
public struct RemoteEvictionReport: Sendable, TierRunReport {
    /// The remote, as `s3://bucket/prefix`.
    public internal(set) var location: String
    /// Whether nothing was removed, only counted.
    public internal(set) var isDryRun = false
    /// References that were looked at.
    public internal(set) var references = 0
    /// Objects that were looked at.
    public internal(set) var objects = 0
    /// The sum of their sizes.
    public internal(set) var bytes: Int64 = 0
    /// References that were older than the limit, and removed.
    public internal(set) var expired = 0
    /// References that newer ones of the same URL had replaced, and that were removed.
    public internal(set) var replaced = 0
    /// Objects that nothing referred to, and that were removed.
    public internal(set) var evictedObjects = 0
    /// The sum of their sizes.
    public internal(set) var evictedBytes: Int64 = 0
    /// References to objects that are not there, and that were removed: written while their
    /// objects were. What they are of is fetched again.
    public internal(set) var undone = 0
    /// Seconds that it took.
    public internal(set) var seconds: Double = 0
    /// Whether it was cancelled; what was removed stays removed, and the next one continues.
    public internal(set) var isInterrupted = false

    init(location: String) { self.location = location }
}
