import Foundation
import Synchronization

/// Asynchronous work that a thread of the run's own waits for.
final class RunTask: Sendable {
    private let task: Task<Void, Never>
    private let end: End

    private final class End: Sendable {
        let group = DispatchGroup()
        let error = Mutex<(any Error)?>(nil)
    }

    init(_ body: @escaping @Sendable () async throws -> Void) {
        let end = End()
        end.group.enter()
        task = Task {
            do { try await body() } catch { end.error.withLock { $0 = error } }
            end.group.leave()
        }
        self.end = end
    }

    func cancel() { task.cancel() }

    /// Waits for its end. Not for tasks: it holds up the thread.
    func wait() throws {
        end.group.wait()
        if let error = end.error.withLock({ $0 }) { throw error }
    }
}
