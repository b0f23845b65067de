import Foundation

/// A number that the environment sets: how long a test goes on, or which run it repeats.
func testSetting(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
}

/// Runs what waits for processes: in tasks' threads it would hold up the other tests.
func onThreadOfItsOwn<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}
