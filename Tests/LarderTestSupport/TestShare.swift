import Foundation

/// A number that the environment sets: how long a test goes on, or which run it repeats.
public func testSetting(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
}

/// Of long-running tests, one repetition or case in so many is done: `LARDER_TEST_SHARE` (default:
/// 1, all).
public let testShare = max(1, testSetting("LARDER_TEST_SHARE") ?? 1)

/// The share of a number of repetitions.
public func share(of count: Int) -> Int { max(1, count / testShare) }

/// The share of a test's cases, drawn anew for each run.
public func share<Case>(of cases: [Case]) -> [Case] {
    testShare == 1 ? cases : Array(cases.shuffled().prefix(share(of: cases.count)))
}
