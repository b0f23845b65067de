import Dispatch
import Synchronization

/// Asynchronous work that a thread of the run waits for.
final class RunTask: Sendable {
    private let task: Task<Void, Never>
    private let end = End()

    private final class End: Sendable {
        let group = DispatchGroup()
        let error = Mutex<(any Error)?>(nil)
    }

    init(_ body: @escaping @Sendable () async throws -> Void) {
        end.group.enter()
        task = Task { [end] in
            do { try await body() } catch { end.error.withLock { $0 = error } }
            end.group.leave()
        }
    }

    func cancel() { task.cancel() }

    /// Waits for the end. Tasks must not call it: it blocks the thread, and the work may need it.
    func wait() throws {
        end.group.wait()
        if let error = end.error.withLock({ $0 }) { throw error }
    }
}

/// Calls `body` for all items, up to `width` at once. The first error cancels the others.
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
