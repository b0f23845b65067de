/// What a copy of a cache has, and what it lacks.
public struct SnapshotReport: Sendable, Equatable {
    /// Objects that were copied, each compared with its digest.
    public internal(set) var objects = 0
    /// The sum of their sizes.
    public internal(set) var bytes: Int64 = 0
    /// URLs and keys that resolve to one of them.
    public internal(set) var resources = 0
    /// Objects that were evicted between the copy of the index and their turn: the copy knows
    /// nothing of them.
    public internal(set) var evicted = 0
    /// Objects that were not whole, and are left out; ``Cache/verify(_:onProgress:)`` says more.
    public internal(set) var damaged: [Digest] = []
    /// Objects that could not be read, which says nothing about their bytes, and are left out.
    public internal(set) var unreadable: [Digest] = []
    /// How long it took.
    public internal(set) var seconds: Double = 0

    /// Whether the copy has every object that the index has.
    public var hasAllObjects: Bool { damaged.isEmpty && unreadable.isEmpty }
}
