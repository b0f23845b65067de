/// A token bucket for the body bytes of all transfers, as they come over the wire, and the line of
/// those that found it empty.
///
/// A piece is let through whole if there is a token left, so that the bucket may owe some; over
/// any time the bytes let through exceed the rate by no more than a quarter of a second's and a
/// piece. Whoever finds others waiting waits behind them.
///
/// Belongs to the loop's thread.
final class RateLimit {
    private let bytesPerSecond: Double
    private let capacity: Double
    private var tokens: Double
    private var refilled: ContinuousClock.Instant
    private var waiting: [TransferID] = []
    /// Whose turn it is.
    private var turn: TransferID?

    init(bytesPerSecond: Int64, now: ContinuousClock.Instant = .now) {
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
        capacity = max(1, self.bytesPerSecond / 4)
        tokens = capacity
        refilled = now
    }

    /// Whether a transfer may take as many bytes now; if not, it waits in line.
    func admits(
        _ bytes: Int64, of id: TransferID, now: ContinuousClock.Instant = .now
    ) -> Bool {
        // What was paid for before.
        guard bytes > 0 else { return true }
        refill(now)
        guard tokens > 0, waiting.isEmpty || turn == id else {
            waiting.append(id)
            return false
        }
        tokens -= Double(bytes)
        return true
    }

    /// The next in line, if there are tokens again; from now on, until the next call, it has its
    /// turn.
    func next(now: ContinuousClock.Instant = .now) -> TransferID? {
        turn = nil
        guard !waiting.isEmpty else { return nil }
        refill(now)
        guard tokens > 0 else { return nil }
        turn = waiting.removeFirst()
        return turn
    }

    /// How long until there are tokens for the next in line; `nil` if nobody waits.
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
