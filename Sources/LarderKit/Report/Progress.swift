/// How far a run is.
public struct Progress: Sendable, Equatable {
    /// URLs that are to be asked for.
    public var total = 0
    /// URLs that have come to an end: their bytes have arrived, or nothing changed, or they failed.
    /// Those that are not ``done`` yet are about to be stored.
    public var arrived = 0
    /// URLs that are settled: stored durably, unchanged or failed.
    public var done = 0
    /// URLs that failed, those included whose failure is remembered.
    public var failed = 0
    /// Requests that have begun and not ended.
    public var underWay = 0
    /// URLs that wait for another attempt.
    public var waiting = 0
    /// So many seconds from now, the first of those that wait is tried again; nil if none waits.
    public var secondsToAttempt: Double?
    /// Body bytes received, those of unfinished transfers included.
    public var receivedBytes: Int64 = 0
    /// Seconds since the first request could be made.
    public var seconds: Double = 0

    /// Nothing has begun.
    public init() {}

    /// Bytes received per second.
    public var bytesPerSecond: Double { seconds > 0 ? Double(receivedBytes) / seconds : 0 }

    /// The time left in seconds if the rest goes on like this; nil before anything has arrived.
    public var secondsLeft: Double? {
        arrived > 0 ? seconds / Double(arrived) * Double(max(0, total - arrived)) : nil
    }
}
