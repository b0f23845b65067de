import Foundation

/// A bounded channel to one consumer, a task or a thread. Producers block while it is full, so only
/// the run's own threads may send, never tasks.
final class Channel<Element: Sendable>: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `condition`.
    private let capacity: Int
    private let condition = NSCondition()
    private var elements: [Element] = []
    private var end: Result<Void, any Error>?
    private var isAbandoned = false
    private var consumer: CheckedContinuation<[Element], any Error>?

    init(capacity: Int) { self.capacity = capacity }

    /// Waits for room, then sends. Returns false if the channel is abandoned and nothing was sent.
    @discardableResult
    func send(_ more: [Element]) -> Bool {
        condition.lock()
        while elements.count >= capacity, !isAbandoned { condition.wait() }
        let isSent = !isAbandoned
        if isSent { elements += more }
        deliver()
        return isSent
    }

    /// Sends if there is room, else drops the element, which a later one replaces.
    func offer(_ element: Element) {
        condition.lock()
        if elements.count < capacity, !isAbandoned, end == nil { elements.append(element) }
        deliver()
    }

    func finish(_ result: Result<Void, any Error>) {
        condition.lock()
        end = result
        deliver()
    }

    /// Stops receiving: producers no longer wait.
    func abandon() {
        condition.lock()
        isAbandoned = true
        elements = []
        deliver()
    }

    var hasConsumer: Bool { condition.withLock { !isAbandoned } }

    /// Returns the waiting elements, at least one, or none at the end.
    func next() async throws -> [Element] {
        try await withCheckedThrowingContinuation { continuation in
            condition.lock()
            consumer = continuation
            deliver()
        }
    }

    /// Blocks until there are elements, and returns them; at the end none, or throws its error.
    func take(unless isCancelled: () -> Bool) throws -> [Element] {
        condition.lock()
        defer { condition.unlock() }
        while elements.isEmpty, end == nil {
            _ = condition.wait(until: Date(timeIntervalSinceNow: 0.05))
            if isCancelled() { throw CancellationError() }
        }
        if elements.isEmpty { try end?.get() }
        defer { elements = [] }
        condition.broadcast()
        return elements
    }

    /// Delivers elements to a waiting consumer. Called with the lock held, which it releases.
    private func deliver() {
        defer { condition.broadcast() }
        guard let waiting = consumer, !elements.isEmpty || end != nil || isAbandoned else {
            return condition.unlock()
        }
        consumer = nil
        let batch = elements
        elements = []
        let end = batch.isEmpty ? self.end : nil
        condition.unlock()
        if case .failure(let error)? = end {
            waiting.resume(throwing: error)
        } else {
            waiting.resume(returning: batch)
        }
    }
}
