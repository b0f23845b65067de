import Foundation
import LarderTestSupport
import Testing

/// Inputs of `larder rehearse` that are missing or wrong, and interrupts.
@Suite(.timeLimit(.minutes(30))) struct RehearseInputTests {
    @Test func tracesThatAreWrong() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(3))
            func run(_ text: String) throws -> Finished {
                let trace = try larder.write(text.utf8, to: "trace.jsonl")
                return try larder.binary.run(
                    larder.rehearseArguments(manifest) + ["--trace", trace])
            }
            let line = #"{"time": 1, "first": 0, "visible": 2}"#
            #expect(try run(line).status == 0)
            for (text, message) in [
                ("", "there is no event in it"), ("\(line)\n{", "line 2: is not JSON"),
                (#"{"time": 1, "first": 3, "visible": 2}"#, "line 1: 'first' is 3"),
            ] {
                let finished = try run(text)
                #expect(finished.status == 65, "\(finished)")
                #expect(finished.standardError.contains("trace.jsonl: \(message)"))
                #expect(finished.standardOutput.isEmpty)
            }
            larder.origin.resetLog()
            let missing = try larder.binary.run(
                larder.rehearseArguments(manifest) + ["--trace", larder.directory.path("none")])
            #expect(missing.status == 66)
            #expect(larder.origin.count() == 0)
        }
    }

    @Test func manifestsThatAreWrong() async throws {
        try await withFixture { larder in
            let none = larder.directory.path("none.json")
            #expect(try larder.binary.run(larder.rehearseArguments(none)).status == 66)
            let broken = try larder.write("[{".utf8, to: "broken.json")
            #expect(try larder.binary.run(larder.rehearseArguments(broken)).status == 65)
        }
    }

    /// It was once a table of zeros.
    @Test(arguments: [[], [["icon": "data:image/png;base64,iVBORw0KGgo="]]], [[], ["--compare"]])
    func nothingToRehearseIsSaid(_ entries: [[String: String]], _ options: [String]) async throws {
        try await withFixture { larder in
            let arguments = larder.rehearseArguments(try larder.manifest(entries)) + options
            let said = try larder.binary.run(arguments)
            #expect(said.status == 0, "\(said)")
            #expect(said.standardOutput.hasSuffix(": there is nothing to rehearse\n"), "\(said)")
            #expect(said.standardOutput.hasPrefix("\(entries.count) row"), "\(said)")
            #expect(said.standardError.isEmpty)
            let json = try larder.binary.run(arguments + ["--json"])
            let report = try #require(try JSONValue.lines(json.standardOutputBytes).first)
            #expect(report["rows"] == .integer(entries.count))
            #expect(report["strategies"]?.array?.isEmpty == true)
            #expect(report["interrupted"] == .boolean(false))
            let quiet = try larder.binary.run(arguments + ["-q"])
            #expect(quiet.status == 0)
            #expect(quiet.standardOutput.isEmpty && quiet.standardError.isEmpty)
        }
    }

    /// With nothing to store, that once went unnoticed, with status 0.
    @Test(arguments: [[], [["icon": "/0"]]])
    func aCacheThatCannotBeMade(_ entries: [[String: String]]) async throws {
        try await withFixture { larder in
            _ = larder.origin.serveIcons(1)
            let manifest = try larder.manifest(
                entries.map { $0.mapValues { larder.origin.url($0) } })
            for cache in [
                try larder.write("no cache".utf8, to: "file"), larder.directory.path("file/in"),
            ] {
                larder.origin.resetLog()
                let run = try larder.binary.run(
                    larder.rehearseArguments(manifest) + ["--cache", cache])
                let prefetch = try larder.binary.run(["prefetch", manifest, "--cache", cache])
                #expect(run.status == 1, "\(run)")
                #expect(run.status == prefetch.status)
                #expect(run.standardError == prefetch.standardError)
                #expect(run.standardOutput.isEmpty)
                #expect(larder.origin.count() == 0)
            }
        }
    }

    @Test func chartsThatWouldOverwrite() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(3))
            let arguments = larder.rehearseArguments(manifest)
            let drawn = try larder.manifest(urls: [larder.origin.url("/0")], name: "apps.SVG")
            let over = try larder.binary.run(
                larder.rehearseArguments(drawn) + ["--chart", drawn])
            #expect(over.status == 64)
            #expect(over.standardError.contains("would overwrite the manifest"), "\(over)")
            let trace = try larder.write(
                #"{"time": 0, "first": 0, "visible": 2}"#.utf8, to: "trace.svg")
            let overTrace = try larder.binary.run(arguments + ["--trace", trace, "--chart", trace])
            #expect(overTrace.status == 64)
            #expect(overTrace.standardError.contains("would overwrite the trace"), "\(overTrace)")
            #expect(try larder.prefetch(manifest).status == 0)
            let inside = try larder.binary.run(
                arguments + ["--cache", larder.cache, "--chart", "\(larder.cache)/a.svg"])
            #expect(inside.status == 64)
            larder.origin.resetLog()
            let nowhere = try larder.binary.run(
                arguments + ["--chart", larder.directory.path("none/a.svg")])
            #expect(nowhere.status == 1)
            #expect(larder.origin.count() == 0)
        }
    }

    @Test(arguments: [SIGINT, SIGTERM], [["--strategy", "synchronous"], [], ["--compare"]])
    func anInterruptEndsIt(_ signal: Int32, _ options: [String]) async throws {
        try await withFixture { larder in
            let gate = try Gate()
            larder.origin.onAny { _ in Icons.reply(1).heldBy(gate) }
            let urls = (0..<50).map { larder.origin.url("/\($0)") }
            let chart = larder.directory.path("memory.svg")
            let process = try larder.binary.start(
                larder.rehearseArguments(try larder.manifest(urls: urls))
                    + options + ["--json", "--chart", chart, "--stall-timeout", "1h"],
                environment: ["TMPDIR": try larder.temporaryDirectory()])
            try await larder.origin.waitForRequests(1)
            process.kill(signal)
            let finished = try process.wait()
            gate.open()
            #expect(finished.status == (signal == SIGINT ? 130 : 143), "\(finished)")
            let report = try #require(try JSONValue.lines(finished.standardOutputBytes).first)
            #expect(report["interrupted"] == .boolean(true))
            // Of a comparison, the others were not begun.
            #expect(report["strategies"]?.array?.count == 1)
            #expect(finished.standardError.contains("ending the rehearsal"))
            let begun =
                options.contains("--strategy") || options == ["--compare"]
                ? "synchronous" : "sandbox"
            let left = ["asynchronous", "memory", "coalescing", "sandbox"]
            let isComparison = options == ["--compare"]
            let said =
                "larder: interrupted; incomplete: \(begun)"
                + (isComparison ? "; not rehearsed: " + left.joined(separator: ", ") : "")
            #expect(finished.standardError.contains("\(said)\n"), "\(finished)")
            #expect(
                report["not_rehearsed"] == .array((isComparison ? left : []).map { .string($0) }))
            #expect(FileManager.default.fileExists(atPath: chart))
            #expect(try larder.leftovers() == [])
        }
    }
}
