import Foundation

/// Returns an integer from an environment variable, such as a duration or a seed to repeat.
public func testSetting(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
}

/// Long-running tests run one in `testShare` of their repetitions or cases. The environment
/// variable `LARDER_TEST_SHARE` sets it. The default is 1: all of them.
public let testShare = max(1, testSetting("LARDER_TEST_SHARE") ?? 1)

/// Returns the number of repetitions to run out of `count`, at least 1.
public func share(of count: Int) -> Int { max(1, count / testShare) }

/// Returns the cases to run: a new random selection in each run.
public func share<Case>(of cases: [Case]) -> [Case] {
    testShare == 1 ? cases : Array(cases.shuffled().prefix(share(of: cases.count)))
}
