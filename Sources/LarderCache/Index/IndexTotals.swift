import Foundation

/// What the index counts.
public struct IndexTotals: Sendable, Equatable {
    /// How many objects there are.
    public var objects = 0
    /// The sum of their sizes in bytes.
    public var bytes: Int64 = 0
    /// How many resources there are.
    public var resources = 0
    /// How many of them are fresh now.
    public var freshResources = 0
    /// When the object stored first was stored.
    public var oldest: Date?
    /// When the object stored last was stored.
    public var newest: Date?
}
