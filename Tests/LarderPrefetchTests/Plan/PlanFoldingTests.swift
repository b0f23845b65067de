import LarderTestSupport
import Testing

@testable import LarderPrefetch

@Suite struct PlanFoldingTests {
    private func plan(_ lines: [String]) throws -> (PlanSummary, [PlannedEntry]) {
        var entries: [PlannedEntry] = []
        let summary = try Planner(cache: nil).plan(
            [.bytes(Array(lines.joined(separator: "\n").utf8), name: "apps.jsonl")]
        ) { entries.append($0) }
        return (summary, entries)
    }

    /// Swift compares these strings as equal, but SQLite compares their bytes.
    @Test func keysInDifferentNormalizationFormsAreDifferentResources() throws {
        let (summary, entries) = try plan([
            #"{"name":"composed","icon":"http://a.example/1","key":"caf\u00e9"}"#,
            #"{"name":"decomposed","icon":"http://a.example/2","key":"cafe\u0301"}"#,
        ])
        #expect(summary.urls == 2)
        #expect(entries.allSatisfy { !$0.isDuplicate })
    }

    /// More entries than one page of the plan holds.
    @Test func manyEntriesOfOneResourceShareOneFetch() throws {
        let lines = (0..<1_300).map { #"{"name":"\#($0)","icon":"http://a.example/same"}"# }
        let (summary, entries) = try plan(lines)
        #expect(summary.urls == 1 && summary.missing == 1 && summary.icons == 1_300)
        #expect(entries.map(\.name) == (0..<1_300).map(String.init))
        #expect(entries.count { $0.isDuplicate } == 1_299)
    }

    @Test func aSharedFetchHasTheHighestPriorityOfItsEntries() throws {
        let (_, entries) = try plan([
            #"{"name":"1","icon":"http://a.example/1"}"#,
            #"{"name":"2","icon":"http://a.example/2","priority":"low"}"#,
            #"{"name":"3","icon":"http://a.example/2","priority":"high"}"#,
        ])
        #expect(entries.map(\.name) == ["2", "3", "1"])
        #expect(entries.map(\.priority) == [4, 4, 0])
    }
}
