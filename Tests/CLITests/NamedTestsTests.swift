import Foundation
import Testing

/// Pages name the tests that show what they say: those are there.
@Suite struct NamedTestsTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The text of every file of tests, by its suite's name.
    private func suites() throws -> [String: String] {
        let tests = Self.root.appendingPathComponent("Tests")
        let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)
        var texts: [String: String] = [:]
        while let file = files?.nextObject() as? URL {
            guard file.lastPathComponent.hasSuffix("Tests.swift") else { continue }
            let name = file.deletingPathExtension().lastPathComponent
            texts[name, default: ""] += try String(contentsOf: file, encoding: .utf8)
        }
        return texts
    }

    @Test(arguments: ["docs/security.md", "docs/promises.md"])
    func everyTestThatAPageNamesIsThere(_ path: String) throws {
        let page = try String(
            contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
        let suites = try suites()
        var named = 0
        for match in page.matches(of: /`(\w+Tests)(?:\.(\w+))?`/) {
            named += 1
            let suite = String(match.output.1)
            let text = try #require(suites[suite], "there is no \(suite)")
            #expect(text.contains("struct \(suite)"))
            guard let test = match.output.2 else { continue }
            #expect(text.contains("func \(test)("), "there is no \(suite).\(test)")
        }
        #expect(named > 20)
    }

    @Test func thePromisesSayWhichTestsTheShortFormLeavesOut() throws {
        let page = try String(
            contentsOf: Self.root.appendingPathComponent("docs/promises.md"), encoding: .utf8)
        for (suite, text) in try suites() where page.contains("`\(suite)") {
            for match in text.matches(of: /@Test\(\.isLong[^@]*?func (\w+)\(/)
            where page.contains("`\(suite).\(match.output.1)`") {
                #expect(page.contains("all but `\(suite)`"), "\(suite).\(match.output.1)")
            }
        }
    }
}
