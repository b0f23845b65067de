import Dispatch
import Synchronization

/// The requests of an origin in order of arrival, and the tests that wait for more.
final class RequestLog: Sendable {
    private struct State {
        var requests: [Request] = []
        var countByTarget: [String: Int] = [:]
        var countByPath: [String: Int] = [:]
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0

        func count(_ path: String?) -> Int {
            guard let path else { return requests.count }
            return (path.contains("?") ? countByTarget[path] : countByPath[path]) ?? 0
        }
    }

    private struct Waiter {
        let count: Int
        let path: String?
        let continuation: CheckedContinuation<Bool, Never>
    }

    private let state = Mutex(State())

    var requests: [Request] { state.withLock { $0.requests } }

    func count(_ path: String?) -> Int { state.withLock { $0.count(path) } }

    func reset() {
        state.withLock { state in
            state.requests = []
            state.countByTarget = [:]
            state.countByPath = [:]
        }
    }

    /// Numbers the attempt, appends the request and resumes the waiters whose count it reaches.
    func record(_ request: Request) -> Request {
        let (request, met): (Request, [CheckedContinuation<Bool, Never>]) = state.withLock {
            state in
            var request = request
            request.attempt = (state.countByTarget[request.target] ?? 0) + 1
            state.countByTarget[request.target] = request.attempt
            state.countByPath[request.path, default: 0] += 1
            state.requests.append(request)
            guard !state.waiters.isEmpty else { return (request, []) }
            let met = state.waiters.filter { state.count($0.value.path) >= $0.value.count }
            for id in met.keys { state.waiters[id] = nil }
            return (request, met.map(\.value.continuation))
        }
        for continuation in met { continuation.resume(returning: true) }
        return request
    }

    /// Waits for a number of requests; false after `seconds`.
    func wait(for count: Int, to path: String?, seconds: Double) async -> Bool {
        await withCheckedContinuation { continuation in
            let id: Int? = state.withLock { state in
                guard state.count(path) < count else { return nil }
                state.lastWaiter += 1
                state.waiters[state.lastWaiter] = Waiter(
                    count: count, path: path, continuation: continuation)
                return state.lastWaiter
            }
            guard let id else { return continuation.resume(returning: true) }
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [self] in
                let late = state.withLock { $0.waiters.removeValue(forKey: id) }
                late?.continuation.resume(returning: false)
            }
        }
    }
}
