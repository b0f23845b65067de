import Foundation
import Testing

/// The tests that documentation pages name as evidence.
@Suite struct NamedTestsTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Returns the source text of the test suites by suite name.
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
    func everyTestNamedOnAPageExists(_ path: String) throws {
        let page = try String(
            contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
        let suites = try suites()
        var named = 0
        for match in page.matches(of: /`(\w+Tests)(?:\.(\w+))?`/) {
            named += 1
            let suite = String(match.output.1)
            let text = try #require(suites[suite], "\(suite) does not exist")
            #expect(text.contains("struct \(suite)"))
            guard let test = match.output.2 else { continue }
            #expect(text.contains("func \(test)("), "\(suite).\(test) does not exist")
        }
        #expect(named > 20)
    }

    @Test func thePromisesPageListsTheTestsThatTheShortFormSkips() throws {
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
