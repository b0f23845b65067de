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
    /// How many resources failed when they were last asked for.
    public var failures = 0
    /// When the object stored first was stored.
    public var oldest: Date?
    /// When the object stored last was stored.
    public var newest: Date?
    /// When the object used least recently was used, within an hour.
    public var oldestUse: Date?
    /// When the object used last was used.
    public var newestUse: Date?
    /// How many resources are pinned, cached or not.
    public var pins = 0
}
