/// How far a queue is.
struct QueueProgress: Sendable {
    /// Fetches that have come to their end, except those that were sent back since.
    var arrived = 0
    /// Requests that have begun and not ended.
    var underWay = 0
    /// Fetches that wait for another attempt.
    var waiting = 0
    /// When the first of them is tried again.
    var nextAttempt: ContinuousClock.Instant?
    /// Body bytes received.
    var receivedBytes: Int64 = 0
}
