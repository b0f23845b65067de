import Dispatch
import Synchronization

/// Asynchronous work that a thread waits for.
final class RunTask<Value: Sendable>: Sendable {
    private let task: Task<Void, Never>
    private let end = End()

    private final class End: Sendable {
        let group = DispatchGroup()
        let result = Mutex<Result<Value, any Error>?>(nil)
    }

    init(_ body: @escaping @Sendable () async throws -> Value) {
        end.group.enter()
        task = Task { [end] in
            let result: Result<Value, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            end.result.withLock { $0 = result }
            end.group.leave()
        }
    }

    func cancel() { task.cancel() }

    /// Waits for the end. Tasks must not call it: it blocks the thread.
    ///
    /// - Parameter isCancelled: called a few times a second. If it returns true, the work is
    ///   cancelled. Default: never.
    func wait(unless isCancelled: () -> Bool = { false }) throws -> Value {
        while end.group.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
            if isCancelled() { cancel() }
        }
        guard let result = end.result.withLock({ $0 }) else { throw CancellationError() }
        return try result.get()
    }
}

/// Calls `body` for each that `next` gives, for up to `width` at once, and returns once all are
/// done. The first error ends it, and cancels the others.
func forEach<Item: Sendable>(
    atOnce width: Int, next: () async throws -> Item?,
    _ body: @escaping @Sendable (Item) async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        var running = 0
        while let item = try await next() {
            if running == width {
                try await group.next()
                running -= 1
            }
            group.addTask { try await body(item) }
            running += 1
        }
        try await group.waitForAll()
    }
}
