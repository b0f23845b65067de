import Foundation

/// Carries elements from a run's threads to one asynchronous consumer, and holds the run back while
/// the consumer lags: memory stays bounded and nothing is lost.
///
/// Producers block, so only threads of the run's own may send, never tasks.
final class Channel<Element: Sendable>: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `condition`.
    private let capacity: Int
    private let condition = NSCondition()
    private var events: [Element] = []
    private var end: Result<Void, any Error>?
    private var isAbandoned = false
    private var consumer: CheckedContinuation<[Element], any Error>?

    /// - Parameter capacity: with so many that were not taken, whoever sends more waits.
    init(capacity: Int) { self.capacity = capacity }

    /// Waits for room, then sends; does nothing once the consumer has gone.
    func send(_ more: [Element]) {
        condition.lock()
        while events.count >= capacity, !isAbandoned { condition.wait() }
        if !isAbandoned { events += more }
        deliver()
    }

    /// Sends without waiting if there is room, else drops: for what a later one replaces.
    func offer(_ event: Element) {
        condition.lock()
        if events.count < capacity, !isAbandoned, end == nil { events.append(event) }
        deliver()
    }

    /// Ends the sequence after what was sent.
    func finish(_ result: Result<Void, any Error>) {
        condition.lock()
        end = result
        deliver()
    }

    /// The consumer wants no more: producers go on without it.
    func abandon() {
        condition.lock()
        isAbandoned = true
        events = []
        condition.broadcast()
        deliver()
    }

    /// What waits, at least one; none at the end.
    func next() async throws -> [Element] {
        try await withCheckedThrowingContinuation { continuation in
            condition.lock()
            consumer = continuation
            deliver()
        }
    }

    /// Hands over what there is to a waiting consumer. Called with the lock held; releases it.
    private func deliver() {
        guard let waiting = consumer, !events.isEmpty || end != nil || isAbandoned else {
            return condition.unlock()
        }
        consumer = nil
        let batch = events
        events = []
        let end = batch.isEmpty ? self.end : nil
        condition.broadcast()
        condition.unlock()
        if case .failure(let error)? = end {
            waiting.resume(throwing: error)
        } else {
            waiting.resume(returning: batch)
        }
    }
}
