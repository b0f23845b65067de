/// The progress of work on the objects of a cache, one after another.
public struct ObjectProgress: Sendable, Equatable {
    /// Objects that are done.
    public var objects = 0
    /// How many there are in all; nil if nobody knows.
    public var total: Int?
    /// The bytes of those that are done.
    public var bytes: Int64 = 0
    /// Seconds since the first.
    public var seconds: Double = 0
    /// The number of findings of a verification in directories that are done.
    public var findings = 0

    /// Nothing done yet.
    public init() {}

    /// Bytes per second.
    public var bytesPerSecond: Double { seconds > 0 ? Double(bytes) / seconds : 0 }
    /// Objects per second.
    public var objectsPerSecond: Double { seconds > 0 ? Double(objects) / seconds : 0 }

    /// The time left in seconds if the rest goes on like this; nil if nobody knows.
    public var secondsLeft: Double? {
        guard let total, objects > 0 else { return nil }
        return seconds / Double(objects) * Double(max(0, total - objects))
    }
}
