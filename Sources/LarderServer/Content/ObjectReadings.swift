import LarderCore
import Synchronization

/// The objects that threads of the pool are verifying, which can take seconds. One thread always
/// remains for other requests. A request that must wait fails with ``BusyError`` and is retried.
final class ObjectReadings: Sendable {
    struct BusyError: Error { let digest: Digest }

    private struct State {
        var reading: Set<Digest> = []
        var waiting: [(digest: Digest, client: Client, retry: @Sendable () -> Void)] = []

        func mayRead(_ digest: Digest) -> Bool {
            reading.count < ObjectReadings.threads - 1 && !reading.contains(digest)
        }
    }

    static let threads = 4
    private let state = Mutex(State())

    /// Returns whether the calling thread may read the object now. If so, it must call ``end(_:)``.
    func begin(_ digest: Digest) -> Bool {
        state.withLock { $0.mayRead(digest) && $0.reading.insert(digest).inserted }
    }

    /// Retries the requests that wait for the object, and one request for a different object.
    func end(_ digest: Digest) {
        let ready = state.withLock { state in
            state.reading.remove(digest)
            var ready = state.waiting.filter { $0.digest == digest }
            state.waiting.removeAll { $0.digest == digest }
            if let other = state.waiting.firstIndex(where: { !state.reading.contains($0.digest) }) {
                ready.append(state.waiting.remove(at: other))
            }
            return ready
        }
        for waiter in ready { waiter.retry() }
    }

    /// Calls `retry` when the object can be read, immediately if possible.
    func wait(for busy: BusyError, _ client: Client, _ retry: @escaping @Sendable () -> Void) {
        let isFree = state.withLock { state in
            let isFree = state.mayRead(busy.digest)
            if !isFree { state.waiting.append((busy.digest, client, retry)) }
            return isFree
        }
        if isFree { retry() }
    }

    func isAwaited(_ digest: Digest) -> Bool {
        state.withLock { $0.waiting.contains { $0.digest == digest && !$0.client.isGone } }
    }
}
