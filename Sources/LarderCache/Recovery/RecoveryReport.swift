/// What a rebuilt index was made from.
public struct RecoveryReport: Sendable, Equatable {
    /// Where rows came from.
    public enum Source: String, Sendable, CaseIterable {
        /// The index itself, which was sound.
        case index
        /// The last snapshot of it.
        case snapshot
        /// Nowhere: the objects are there, and what they were fetched from is not known.
        case nothing
    }

    /// Where URLs and what is known of them came from.
    public internal(set) var source = Source.nothing
    /// Objects whose bytes have their digests; all of them are in the index now.
    public internal(set) var objects = 0
    /// URLs that resolve to one of them.
    public internal(set) var resources = 0
    /// Files that should be objects and whose bytes are others, or cannot be read.
    public internal(set) var damaged = 0
    /// Whether it was cancelled: then nothing was changed.
    public internal(set) var isInterrupted = false
    /// The name of the damaged index beneath the cache root; nil if there was none.
    public internal(set) var setAside: String?
}
