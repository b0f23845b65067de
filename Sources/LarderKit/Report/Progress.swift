/// How far a run is.
public struct Progress: Sendable, Equatable {
    /// URLs that are to be asked for.
    public var total = 0
    /// URLs that are settled: stored, unchanged or failed.
    public var done = 0
    /// URLs that failed, those included whose failure is remembered.
    public var failed = 0
    /// Body bytes received, those of unfinished transfers included.
    public var receivedBytes: Int64 = 0
    /// Seconds since the first request could be made.
    public var seconds: Double = 0

    /// Bytes received per second.
    public var bytesPerSecond: Double { seconds > 0 ? Double(receivedBytes) / seconds : 0 }

    /// The time left in seconds if the rest goes on like this; nil before anything is settled.
    public var secondsLeft: Double? {
        done > 0 ? seconds / Double(done) * Double(total - done) : nil
    }
}
