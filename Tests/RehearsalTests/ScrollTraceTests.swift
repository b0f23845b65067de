import Foundation
import LarderTestSupport
import Testing

@testable import rehearse

@Suite struct ScrollTraceReaderTests {
    private static let form = #"{"time": seconds, "first": row, "visible": rows}"#

    private func read(
        _ text: some StringProtocol, rows: Int = 100
    ) throws(ScrollTraceError) -> ScrollTrace {
        try ScrollTraceReader(name: "a.jsonl", rows: rows).read(Array(text.utf8))
    }

    private func error(_ text: some StringProtocol, rows: Int = 100) -> String? {
        do throws(ScrollTraceError) {
            _ = try read(text, rows: rows)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func eventsAreReadFromLines() throws {
        let trace = try read(
            """
            {"time": 0, "first": 0, "visible": 10}

            {"visible": 9, "first": 99, "time": 1.5, "velocity": [1, 2]}\r
            {"time": 1.5, "first": 3, "visible": 1000}
            """)
        #expect(
            trace.events == [
                ScrollEvent(time: 0, first: 0, visible: 10),
                ScrollEvent(time: 1.5, first: 99, visible: 9),
                ScrollEvent(time: 1.5, first: 3, visible: 1000),
            ])
        #expect(trace.maximumVisible == 1000)
        #expect(trace.duration == 1.5)
    }

    @Test(arguments: [
        ("", "a.jsonl: has no events, expected lines of \(Self.form)"),
        (" \n\t\r\n", "a.jsonl: has no events, expected lines of \(Self.form)"),
        ("\n{", "a.jsonl: line 2: is not JSON, expected \(Self.form)"),
        ("[1]", "a.jsonl: line 1: is not an object, expected \(Self.form)"),
        ("7", "a.jsonl: line 1: is not an object, expected \(Self.form)"),
        ("null", "a.jsonl: line 1: is not an object, expected \(Self.form)"),
        (
            #"{"time": 0, "first": 0}"#,
            "a.jsonl: line 1: 'visible' is missing, expected \(Self.form)"
        ),
        (
            #"{"time": null, "first": 0, "visible": 1}"#,
            "a.jsonl: line 1: 'time' is null, expected \(Self.form)"
        ),
        (
            #"{"time": "0", "first": 0, "visible": 1}"#,
            "a.jsonl: line 1: 'time' is not a number, expected \(Self.form)"
        ),
        (
            #"{"time": 0, "first": 0.5, "visible": 1}"#,
            "a.jsonl: line 1: 'first' must be an integer from 0 to 99"
        ),
        (
            #"{"time": 0, "first": 99999999999999999999, "visible": 1}"#,
            "a.jsonl: line 1: 'first' must be an integer from 0 to 99"
        ),
        (
            #"{"time": -0.1, "first": 0, "visible": 1}"#,
            "a.jsonl: line 1: 'time' must be from 0 to 86400 seconds"
        ),
        (
            #"{"time": 1e300, "first": 0, "visible": 1}"#,
            "a.jsonl: line 1: 'time' must be from 0 to 86400 seconds"
        ),
        (
            #"{"time": 0, "first": -1, "visible": 1}"#,
            "a.jsonl: line 1: 'first' must be an integer from 0 to 99"
        ),
        (
            #"{"time": 0, "first": 100, "visible": 1}"#,
            "a.jsonl: line 1: 'first' must be an integer from 0 to 99"
        ),
        (
            #"{"time": 0, "first": 0, "visible": 0}"#,
            "a.jsonl: line 1: 'visible' must be an integer from 1 to 1000"
        ),
        (
            #"{"time": 0, "first": 0, "visible": 9223372036854775807}"#,
            "a.jsonl: line 1: 'visible' must be an integer from 1 to 1000"
        ),
        (
            "{\"time\": 2, \"first\": 0, \"visible\": 1}\n{\"time\": 1, \"first\": 0, \"visible\": 1}",
            "a.jsonl: line 2: 'time' decreases from 2.0 to 1.0"
        ),
    ])
    func malformedTracesAreRejected(_ text: String, _ message: String) {
        #expect(error(text) == message)
    }

    @Test func longLinesAndDeepNestingAreRejected() throws {
        let line = #"{"time": 0, "first": 0, "visible": 1, "note": ""#
        let long = line + String(repeating: "x", count: 4096) + "\"}"
        #expect(error(long) == "a.jsonl: line 1: is longer than 4096 bytes")
        let deep = String(repeating: "[", count: 4000)
        #expect(error(deep) == "a.jsonl: line 1: is not JSON, expected \(Self.form)")
    }

    @Test func bytesThatAreNotTextAreRejected() {
        #expect(throws: ScrollTraceError.self) {
            try ScrollTraceReader(name: "a", rows: 1).read([0xFF, 0xFE, 0x00, 0x0A, 0x7B])
        }
    }

    @Test func unreadableAndEndlessFilesAreRejected() throws {
        try withTemporaryDirectory { directory in
            func read(_ name: String) throws -> ScrollTrace {
                try ScrollTraceReader(name: name, rows: 9).readFile()
            }
            for name in [directory.path("none"), directory.path("."), "a\0b"] {
                let error = #expect(throws: ScrollTraceError.self) { try read(name) }
                #expect(error?.isMissing == true, "\(name)")
            }
            // Reading an endless file stops at the size limit.
            let endless = #expect(throws: ScrollTraceError.self) { try read("/dev/zero") }
            #expect(endless?.reason == "is larger than 64 MiB")
            let path = directory.path("a.jsonl")
            try Data(#"{"time": 0, "first": 1, "visible": 2}"#.utf8)
                .write(to: URL(fileURLWithPath: path))
            #expect(try read(path).events == [ScrollEvent(time: 0, first: 1, visible: 2)])
        }
    }

    @Test func fileNamesInErrorsAreSafeToPrint() {
        let error = #expect(throws: ScrollTraceError.self) {
            try ScrollTraceReader(name: "\u{1B}[2J", rows: 1).readFile()
        }
        #expect(error?.description.contains("\u{1B}") == false)
    }
}

@Suite struct ScrollPatternTests {
    @Test(arguments: ScrollPattern.allCases, [0, 1, 5, 12, 13, 1000])
    func patternsStayWithinTheTable(_ pattern: ScrollPattern, _ rows: Int) {
        let trace = pattern.trace(rows: rows, visible: 12)
        #expect(trace.events.first?.time == 0)
        #expect(trace.events.first?.first == 0)
        var last = 0.0
        for event in trace.events {
            #expect(event.time >= last)
            last = event.time
            let range = event.rows(of: rows)
            #expect(range.count == min(rows, 12))
            #expect(range.upperBound <= rows)
        }
    }

    @Test(arguments: [ScrollPattern.slow, .fling, .thereAndBack])
    func patternsReachTheLastRow(_ pattern: ScrollPattern) {
        let trace = pattern.trace(rows: 500, visible: 10)
        #expect(trace.events.map(\.first).max() == 490)
        #expect(trace.events.last?.first == (pattern == .thereAndBack ? 0 : 490))
    }

    @Test func patternsScrollAtTheirSpeeds() {
        // 490 rows beyond the first screen: 49 screens.
        #expect(ScrollPattern.slow.trace(rows: 500, visible: 10).duration == 98)
        #expect(ScrollPattern.thereAndBack.trace(rows: 500, visible: 10).duration == 49)
        let fling = ScrollPattern.fling.trace(rows: 500, visible: 10).duration
        #expect((20...60).contains(fling))
    }

    @Test func jumpsReturnToEarlierRows() {
        let places = ScrollPattern.jump.trace(rows: 1000, visible: 10).events.map(\.first)
        #expect(places.count == 40)
        #expect(Set(places).count == 20)
        #expect(Array(places[..<20]) == Array(places[20...]))
    }
}

extension ScrollTrace {
    fileprivate var duration: Double { events.last?.time ?? 0 }
}
