import Foundation
import LarderTestSupport
import Testing

/// Runs what waits for processes: in tasks' threads it would hold up the other tests.
func onThreadOfItsOwn<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

extension Trait where Self == ConditionTrait {
    /// For tests that take long and have no repetitions: they run only if all are wanted.
    static var isLong: Self { .enabled(if: testShare == 1, "Scripts/test --all runs it") }
}
