import Foundation
import LarderTestSupport
import Testing

/// `Scripts/rooms` finds what reaches up, by whichever kind of name, and what nobody listed.
@Suite struct RoomCheckTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// What is put into Verify, the highest room of LarderCache, and into Ground, the lowest.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var above = ""
        let below: String
        /// The end of the only complaint; nil for none.
        let complaint: String?

        init(_ name: String, above: String = "", below: String, complaint: String?) {
            testDescription = name
            (self.above, self.below, self.complaint) = (above, below, complaint)
        }
    }

    private static let cases = [
        Case(
            "text and comments", below: #"let a = "Evictor \\(Evictor)" // "\(Evictor.fileLimit)""#,
            complaint: nil),
        Case("a type", below: "let a: CacheIndex", complaint: "Index, which has CacheIndex"),
        Case(
            "a type within text", below: #"let a = "b \(c ?? "d") \(Evictor.fileLimit)""#,
            complaint: "Evict, which has Evictor"),
        Case(
            "a type within text of several lines",
            below: "let a = \"\"\"\n    b CacheIndex \\(Evictor.fileLimit)\n    \"\"\"",
            complaint: "Evict, which has Evictor"),
        Case(
            "a function", above: "func onlyAbove() {}", below: "func b() { onlyAbove() }",
            complaint: "Verify, which has onlyAbove"),
        Case(
            "an extension's member", above: "extension Int {\n    var onlyAbove: Int { 3 }\n}",
            below: "let a = (3).onlyAbove", complaint: "Verify, which has onlyAbove"),
        Case(
            "an extension's type", above: "extension CacheError {\n    enum OnlyAbove {}\n}",
            below: "let a: CacheError.OnlyAbove", complaint: "Verify, which has OnlyAbove"),
    ]

    @Test(arguments: cases)
    func whatReachesUpIsFound(_ test: Case) async throws {
        let complaints = try await complaints { sources in
            try write(test.above, to: "\(sources)/LarderCache/Verify/Above.swift")
            try write(test.below, to: "\(sources)/LarderCache/Ground/Below.swift")
        }.filter { !$0.hasPrefix("docs/rooms.svg") }
        #expect(complaints.count == (test.complaint == nil ? 0 : 1), "\(complaints)")
        if let complaint = test.complaint {
            #expect(complaints.first?.hasSuffix("Ground is beneath \(complaint)") == true)
        }
    }

    @Test(arguments: ["LarderCache/Unlisted", "LarderUnlisted"])
    func whatNobodyListedIsFound(_ folder: String) async throws {
        let complaints = try await complaints { sources in
            try FileManager.default.createDirectory(
                atPath: "\(sources)/\(folder)", withIntermediateDirectories: true)
            try write("struct Unlisted {}", to: "\(sources)/\(folder)/Unlisted.swift")
        }
        #expect(complaints.contains("Sources/\(folder)/ is in no list of Scripts/rooms"))
    }

    private func write(_ text: String, to path: String) throws {
        try Data("\(text)\n".utf8).write(to: URL(fileURLWithPath: path))
    }

    /// What the script says of the project's sources once they were changed.
    private func complaints(
        after change: @Sendable (_ sources: String) throws -> Void
    ) async throws -> [String] {
        try await withTemporaryDirectory { copy in
            let files = FileManager.default
            try files.createDirectory(
                atPath: copy.path("docs"), withIntermediateDirectories: true)
            try files.createDirectory(
                atPath: copy.path("Scripts"), withIntermediateDirectories: true)
            for path in ["Sources", "Scripts/rooms", "docs/rooms.svg"] {
                try files.copyItem(
                    atPath: Self.root.appendingPathComponent(path).path, toPath: copy.path(path))
            }
            try change(copy.path("Sources"))
            let finished = try await onThreadOfItsOwn {
                try RunningProcess("/bin/sh", [copy.path("Scripts/rooms")]).wait(timeout: 60)
            }
            let lines = finished.standardOutput.split(separator: "\n").map(String.init)
            #expect(finished.status == (lines.isEmpty ? 0 : 1), "\(finished)")
            return lines
        }
    }
}
