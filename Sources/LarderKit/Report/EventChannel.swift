import Foundation

/// Carries events from a run's threads to one asynchronous consumer, and holds the run back while
/// the consumer lags: memory stays bounded and no event is lost.
///
/// Producers block, so only threads of the run's own may send, never tasks.
final class EventChannel: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `condition`.
    private static let capacity = 4096

    private let condition = NSCondition()
    private var events: [PrefetchEvent] = []
    private var end: Result<Void, any Error>?
    private var isAbandoned = false
    private var consumer: CheckedContinuation<[PrefetchEvent], any Error>?

    /// Waits for room, then sends; does nothing once the consumer has gone.
    func send(_ more: [PrefetchEvent]) {
        condition.lock()
        while events.count >= Self.capacity, !isAbandoned { condition.wait() }
        if !isAbandoned { events += more }
        deliver()
    }

    /// Sends without waiting if there is room, else drops: for events that a later one replaces.
    func offer(_ event: PrefetchEvent) {
        condition.lock()
        if events.count < Self.capacity, !isAbandoned, end == nil { events.append(event) }
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

    /// The events that wait, at least one; none at the end.
    func next() async throws -> [PrefetchEvent] {
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
