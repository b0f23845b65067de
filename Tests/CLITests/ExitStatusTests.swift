import Foundation
import LarderCache
import Testing

@testable import LarderPrefetch
@testable import larder

@Suite struct ExitStatusTests {
    private func status(
        failed: Int = 0, unfinished: Int = 0, allowance: FailureAllowance = .none,
        _ change: (inout Report) -> Void = { _ in }
    ) -> larder.ExitStatus {
        var report = Report()
        report.icons = 10
        report.outcomes = [
            .fetched: 10 - failed - unfinished, .failed: failed, .unfinished: unfinished,
        ]
        change(&report)
        return larder.ExitStatus(report, interruption: .terminated, allowance: allowance)
    }

    @Test func theOutputPageRanksEveryExitStatus() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../docs/output.md").standardizedFileURL
        let page = try String(contentsOf: file, encoding: .utf8)
        let order = try #require(page.firstMatch(of: /exits with the first of (.*)\./)).output.1
        let ordered = order.split { !$0.isNumber }.compactMap { Int32($0) }
        let statuses = larder.ExitStatus.allCases.map(\.rawValue)
        #expect(Set(ordered) == Set(statuses).subtracting([0]))
    }

    /// No run should end with an unfinished icon. If one does, its exit status must show it.
    @Test func anAllowanceDoesNotCoverUnfinishedIcons() throws {
        #expect(status() == .done)
        #expect(status(unfinished: 1) == .someFailed)
        #expect(status(unfinished: 1, allowance: try FailureAllowance.parse("100%")) == .someFailed)
        #expect(status(failed: 1) == .someFailed)
        #expect(status(failed: 1, allowance: try FailureAllowance.parse("1")) == .done)
    }

    @Test func theCauseOfAnEarlyEndDeterminesTheExitStatus() {
        #expect(status(unfinished: 1) { $0.isInterrupted = true } == .terminated)
        #expect(
            status(unfinished: 1) {
                $0.failure = CacheError("write", subject: "cache", errno: 28)
            } == .storage)
    }
}
