/// A token bucket for received body bytes, with a queue of waiting transfers. A piece of any size
/// passes if a token remains, so at most one piece and the bytes for 250 ms exceed the limit.
final class RateLimit {
    private let bytesPerSecond: Double
    private let capacity: Double
    private var tokens: Double
    private var refilled: ContinuousClock.Instant
    private var waiting: [TransferID] = []
    private var turn: TransferID?

    init(bytesPerSecond: Int64, now: ContinuousClock.Instant = .now) {
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
        capacity = max(1, self.bytesPerSecond / 4)
        (tokens, refilled) = (capacity, now)
    }

    func admits(_ bytes: Int64, of id: TransferID, now: ContinuousClock.Instant = .now) -> Bool {
        // Bytes that are delivered again count as 0, because they were admitted before.
        guard bytes > 0 else { return true }
        refill(now)
        guard tokens > 0, waiting.isEmpty || turn == id else {
            waiting.append(id)
            return false
        }
        tokens -= Double(bytes)
        return true
    }

    /// If a token remains, returns the first waiting transfer, which may now skip the queue.
    func next(now: ContinuousClock.Instant = .now) -> TransferID? {
        turn = nil
        guard !waiting.isEmpty else { return nil }
        refill(now)
        guard tokens > 0 else { return nil }
        turn = waiting.removeFirst()
        return turn
    }

    func delay(now: ContinuousClock.Instant = .now) -> Duration? {
        guard !waiting.isEmpty else { return nil }
        let earned = (now - refilled) / .seconds(1) * bytesPerSecond
        return .seconds(max(0, 1 - tokens - earned) / bytesPerSecond)
    }

    private func refill(_ now: ContinuousClock.Instant) {
        tokens = min(capacity, tokens + (now - refilled) / .seconds(1) * bytesPerSecond)
        refilled = now
    }
}
