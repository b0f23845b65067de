import LarderS3
import LarderTransfer

/// A store of icons that several machines share, and what a run does with it.
public struct Remote: Sendable {
    /// What is asked of it before origins are.
    public enum Use: Sendable {
        /// What it has is copied into the cache, and what it lacks is stored in it.
        case mirror
        /// The same, and nothing is stored in it.
        case read
        /// It is filled, and what it has and is fresh is left there: for workers, whose own caches
        /// nobody reads.
        case fill
        /// What it has is copied into the cache, whatever its age; what it lacks fails. No origin
        /// is asked.
        case only
        /// What the cache has is stored in it. Nothing is copied from it, and no origin is asked.
        case store
    }

    /// Where it is.
    public var settings: S3Settings
    /// What is asked of it. Default: ``Use-swift.enum/mirror``.
    public var use = Use.mirror
    /// For a worker that fills it: what was stored in it or confirmed less than this ago counts as
    /// fresh, and its reference, which tells what its origin said, is not read. Default: nil, every
    /// reference is.
    public var freshFor: Duration?
    /// Requests to it under way at once. Default: 16.
    public var maximumConcurrent = 16
    /// The maximum number of objects that one listing of the remote may name: of all icons, or of
    /// all references. Default: 5,000,000. A listing that names more is an error, since those of a
    /// hostile server need not end.
    public var maximumListed = 5_000_000
    /// In its place, if it is another kind of store.
    package var storage: (any ObjectStorage)?

    /// A remote, with the defaults.
    public init(_ settings: S3Settings) { self.settings = settings }

    /// - Parameter transfer: how connections are made.
    func open(_ transfer: TransferConfiguration) throws -> any ObjectStorage {
        try storage
            ?? S3Storage(settings, connections: maximumConcurrent, transfer: transfer)
    }
}
