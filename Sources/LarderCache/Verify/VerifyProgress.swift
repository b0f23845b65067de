/// How far a verification is.
public struct VerifyProgress: Sendable, Equatable {
    /// Objects looked at so far.
    public var objects = 0
    /// How many there are in all; nil if that is not known beforehand.
    public var total: Int?
    /// Bytes read so far.
    public var bytes: Int64 = 0
    /// Findings so far, in directories that are done.
    public var findings = 0
    /// Seconds since the first object.
    public var seconds: Double = 0

    /// Nothing done yet.
    public init() {}

    /// Bytes read per second.
    public var bytesPerSecond: Double { seconds > 0 ? Double(bytes) / seconds : 0 }

    /// The time left in seconds if the rest goes on like this; nil if nobody knows.
    public var secondsLeft: Double? {
        guard let total, objects > 0 else { return nil }
        return seconds / Double(objects) * Double(max(0, total - objects))
    }
}
