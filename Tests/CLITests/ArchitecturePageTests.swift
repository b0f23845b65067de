import Foundation
import Testing

/// `docs/architecture.md`, compared with the package and its sources.
@Suite struct ArchitecturePageTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test func everyModuleHasARowOnTheArchitecturePage() throws {
        let package = try text("Package.swift")
        let page = try text("docs/architecture.md")
        let targets = package.matches(of: /\.target\(\s*name: "(Larder\w+)"/)
            .map { String($0.output.1) }
            .filter { !$0.hasPrefix("LarderTest") || $0 == "LarderTesting" }
        #expect(targets.count >= 10)
        for module in targets {
            #expect(page.contains("\n| `\(module)` | "), "\(module)")
        }
    }

    @Test func everyLinkLeadsToAFileThatDeclaresItsName() throws {
        let page = try text("docs/architecture.md")
        var links = 0
        for match in page.matches(of: /\[`(\w+)(?:\.(\w+))?`\]\(\.\.\/([\w\/+]+\.swift)\)/) {
            links += 1
            let source = try text(String(match.output.3))
            #expect(source.contains("\(match.output.1)"))
            guard let function = match.output.2 else { continue }
            #expect(
                source.contains(function == "init" ? "init(" : "func \(function)("),
                "\(match.output.3) does not declare \(function)")
        }
        #expect(links > 30)
    }
}
