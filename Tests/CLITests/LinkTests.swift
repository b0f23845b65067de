import Foundation
import Testing

/// Links in the documentation, which must lead to existing files and headings.
@Suite struct LinkTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../..").standardizedFileURL

    /// The Markdown pages in these folders, as paths relative to the repository.
    private static let pages: [String] = {
        let folders = ["", "contrib", "docs", "Examples", "Fuzz", "manifests", "Packaging"]
        return folders.flatMap { folder in
            let names = try? FileManager.default.contentsOfDirectory(
                atPath: root.appendingPathComponent(folder).path)
            return (names ?? []).filter { $0.hasSuffix(".md") }
                .map { folder.isEmpty ? $0 : "\(folder)/\($0)" }
        }.sorted()
    }()

    @Test func theMarkdownPagesAreFound() {
        #expect(Self.pages.contains("README.md") && Self.pages.contains("docs/cache.md"))
    }

    @Test(arguments: pages) func everyLinkHasAnExistingTarget(_ page: String) throws {
        let file = Self.root.appendingPathComponent(page)
        for target in try Page(file).links where !target.contains(":") {
            let parts = target.split(
                separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let linked =
                parts[0].isEmpty ? file : URL(fileURLWithPath: String(parts[0]), relativeTo: file)
            guard FileManager.default.fileExists(atPath: linked.standardizedFileURL.path) else {
                Issue.record("\(page): \(target): no such file")
                continue
            }
            guard parts.count == 2 else { continue }
            #expect(
                try Page(linked).anchors.contains(String(parts[1])),
                "\(page): \(target): no such heading")
        }
    }
}

/// The links and anchors of a Markdown page.
private struct Page {
    var links: [String] = []
    var anchors: Set<String> = []

    init(_ file: URL) throws {
        var isCode = false
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("```") { isCode.toggle() }
            guard !isCode, !line.hasPrefix("    ") else { continue }
            if line.hasPrefix("#") {
                anchors.insert(Self.anchor(of: line.drop { $0 == "#" || $0 == " " }))
            }
            let text = line.replacing(/`[^`]*`/, with: "")
            links += text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.output.1) }
        }
    }

    /// Returns the anchor that GitHub gives to a heading.
    private static func anchor(of heading: Substring) -> String {
        String(
            heading.lowercased().unicodeScalars.compactMap { scalar -> Character? in
                if scalar == " " { return "-" }
                let isKept = scalar == "-" || scalar == "_" || scalar.properties.isAlphabetic
                return isKept || scalar.properties.numericType != nil ? Character(scalar) : nil
            })
    }
}
