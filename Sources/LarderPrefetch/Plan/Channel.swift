import Foundation

/// A bounded channel to one consumer. Tasks must not call `send`, which blocks while the channel is
/// full.
final class Channel<Element: Sendable>: @unchecked Sendable {
    // Unchecked because the state is mutable. Every access to it locks `condition`.
    private let capacity: Int
    private let condition = NSCondition()
    private var elements: [Element] = []
    private var end: Result<Void, any Error>?
    private var isAbandoned = false
    private var consumer: CheckedContinuation<[Element], any Error>?

    init(capacity: Int) { self.capacity = capacity }

    /// Returns false if the channel is abandoned.
    @discardableResult
    func send(_ more: [Element]) -> Bool {
        condition.lock()
        while elements.count >= capacity, !isAbandoned { condition.wait() }
        let isSent = !isAbandoned
        if isSent { elements += more }
        deliver()
        return isSent
    }

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

    func abandon() {
        condition.lock()
        isAbandoned = true
        elements = []
        deliver()
    }

    var hasConsumer: Bool { condition.withLock { !isAbandoned } }

    func next() async throws -> [Element] {
        try await withCheckedThrowingContinuation { continuation in
            condition.lock()
            consumer = continuation
            deliver()
        }
    }

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

    /// Resumes a waiting consumer and releases the lock, which the caller must hold.
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
        waiting.resume(with: end?.map { _ in batch } ?? .success(batch))
    }
}
