import Foundation

/// A channel to one consumer. Tasks must not call `send`, which blocks while the channel is full.
final class Channel<Element: Sendable>: @unchecked Sendable {
    // Unchecked because the state is mutable. Every access to it locks `condition`.
    private let capacity: Int
    private let condition = NSCondition()
    private var elements: [Element] = []
    private var end: Result<Void, any Error>?
    private var isAbandoned = false
    private var consumer: CheckedContinuation<[Element], any Error>?

    init(capacity: Int) { self.capacity = capacity }

    @discardableResult
    func send(_ more: [Element]) -> Bool {
        change {
            while elements.count >= capacity, !isAbandoned { condition.wait() }
            if !isAbandoned { elements += more }
            return !isAbandoned
        }
    }

    func offer(_ element: Element) {
        change {
            if elements.count < capacity, !isAbandoned, end == nil { elements.append(element) }
        }
    }

    func finish(_ result: Result<Void, any Error>) { change { end = result } }

    func abandon() { change { (isAbandoned, elements) = (true, []) } }

    var hasConsumer: Bool { condition.withLock { !isAbandoned } }

    func next() async throws -> [Element] {
        try await withCheckedThrowingContinuation { next in change { consumer = next } }
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

    /// Changes the state, and then resumes a waiting consumer without the lock.
    private func change<Value>(_ body: () -> Value) -> Value {
        condition.lock()
        let value = body()
        condition.broadcast()
        guard let waiting = consumer, !elements.isEmpty || end != nil || isAbandoned else {
            condition.unlock()
            return value
        }
        let batch = elements
        let result = batch.isEmpty ? end : nil
        (consumer, elements) = (nil, [])
        condition.unlock()
        waiting.resume(with: result?.map { _ in batch } ?? .success(batch))
        return value
    }
}
