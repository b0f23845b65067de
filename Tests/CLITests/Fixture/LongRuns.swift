import Foundation
import Testing

/// A number that the environment sets: how long a test goes on, or which run it repeats.
func testSetting(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
}

/// Of long-running tests, one repetition or case in so many is done: `LARDER_TEST_SHARE` (default:
/// 1, all).
let testShare = max(1, testSetting("LARDER_TEST_SHARE") ?? 1)

/// The share of a number of repetitions.
func share(of count: Int) -> Int { max(1, count / testShare) }

/// The share of a test's cases, drawn anew for each run.
func share<Case>(of cases: [Case]) -> [Case] {
    testShare == 1 ? cases : Array(cases.shuffled().prefix(share(of: cases.count)))
}

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
