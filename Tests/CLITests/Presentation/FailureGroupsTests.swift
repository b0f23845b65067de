import Testing

@testable import larder

/// The failures shown on a terminal: a few of each reason, and counts of the rest.
@Suite struct FailureGroupsTests {
    /// Adds failures and returns the number to show.
    private func shown(
        _ groups: inout FailureGroups, _ code: String, _ urls: [String?]
    ) -> Int {
        var shown = 0
        for url in urls where groups.add(code, at: url) { shown += 1 }
        return shown
    }

    private func urls(_ host: String, _ count: Int) -> [String] {
        (0..<count).map { "https://\(host)/\($0).png" }
    }

    @Test func fiveFailuresOfEachReasonAreShown() {
        var groups = FailureGroups()
        #expect(shown(&groups, "http-404", urls("a.example", 3) + urls("b.example", 4)) == 5)
        #expect(shown(&groups, "timed-out", urls("a.example", 2)) == 2)
        #expect(groups.lines == ["http-404: 2 more at b.example"])
        #expect(shown(&groups, "http-404", urls("c.example:8080", 3)) == 0)
        #expect(shown(&groups, "bad-size", Array(repeating: nil, count: 6)) == 5)
        #expect(
            groups.lines == [
                "bad-size: 1 more", "http-404: 3 more at c.example:8080",
                "http-404: 2 more at b.example",
            ])
    }

    @Test func credentialsAreRemovedFromTheHost() {
        var groups = FailureGroups()
        #expect(shown(&groups, "http-404", urls("u:p@a.example", 6)) == 5)
        #expect(groups.lines == ["http-404: 1 more at a.example"])
    }

    @Test func theEightHostsWithTheMostFailuresAreNamed() {
        var groups = FailureGroups()
        #expect(shown(&groups, "http-500", urls("first.example", 5)) == 5)
        for host in 0..<20 {
            #expect(shown(&groups, "http-500", urls("h\(host).example", host + 1)) == 0)
        }
        #expect(groups.lines.count == 9)
        #expect(groups.lines.first == "http-500: 20 more at h19.example")
        #expect(groups.lines.last == "http-500: 78 more at 12 other hosts")
    }

    @Test func hostsBeyondTheLimitAreCountedTogether() {
        var groups = FailureGroups()
        #expect(shown(&groups, "timed-out", (0..<10_000).map { "https://h\($0)/" }) == 5)
        #expect(groups.lines.count == 9)
        #expect(groups.lines.last == "timed-out: 9987 more at other hosts")
        #expect(shown(&groups, "http-404", urls("late.example", 7)) == 5)
        #expect(groups.lines.first == "http-404: 2 more at other hosts")
    }
}
