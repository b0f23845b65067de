import Foundation
import LarderTestSupport
import Testing

/// The manual pages that `Scripts/manual` writes.
@Suite struct ManualTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../../..").standardizedFileURL.path
    private static let mandoc = ["/usr/bin/mandoc", "/opt/homebrew/bin/mandoc"]
        .first(where: FileManager.default.isExecutableFile)

    private func write(_ directory: String, environment: [String: String] = [:]) throws {
        let inherited = ProcessInfo.processInfo.environment
        let larder = try LarderBinary().path
        let finished = try RunningProcess(
            Self.root + "/Scripts/manual", [directory],
            environment: inherited.merging(["LARDER": larder]) { $1 }.merging(environment) { $1 }
        ).wait()
        #expect(finished.status == 0, "\(finished)")
        #expect(finished.standardError.isEmpty, "\(finished)")
    }

    private func pages(_ directory: String) throws -> [String: String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        return try Dictionary(
            uniqueKeysWithValues: names.map {
                ($0, try String(contentsOfFile: "\(directory)/\($0)", encoding: .utf8))
            })
    }

    /// Returns a page without markup.
    private func words(_ page: String) -> String {
        page.replacing("\\-", with: "-").replacing(/\\f[BIR]/, with: "")
            .replacing("\\(aq", with: "'").replacing("\\e", with: "\\")
    }

    @Test func everyCommandHasAManualPageWithEveryOption() throws {
        try withTemporaryDirectory { directory in
            try write(directory.path("man"))
            let pages = try pages(directory.path("man"))
            let commands = try Definitions().commands
            func title(_ command: Definitions.Command) -> String {
                (["larder"] + command.words).joined(separator: "-")
            }
            let names = commands.map { title($0) + ".1" } + ["larder.1", "larder-manifest.5"]
            #expect(Set(pages.keys) == Set(names))
            for command in commands {
                let page = words(pages[title(command) + ".1"] ?? "")
                for option in command.options {
                    #expect(
                        page.contains(
                            try Regex("\\n\\.It Fl (\\w , )?\(option.dropFirst())( |\\n)")),
                        "\(command.name) \(option)")
                }
                for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "\"EXIT STATUS\""] {
                    #expect(page.contains("\n.Sh \(section)\n"), "\(command.name) \(section)")
                }
                #expect(page.contains("\n.Dt \(title(command).uppercased()) 1\n"))
                let parent = title(command).replacing(/-[a-z]+$/, with: "")
                #expect(pages["\(parent).1"]?.contains("\n.Xr \(title(command)) 1") == true)
            }
        }
    }

    @Test func examplesInManualPagesUseExistingOptions() throws {
        try withTemporaryDirectory { directory in
            try write(directory.path("man"))
            let pages = try pages(directory.path("man"))
            let definitions = try Definitions()
            var count = 0
            for page in pages.filter({ $0.key.hasSuffix(".1") }).values.map(words) {
                for match in page.matches(of: /(?m)^  (?!#).*?larder ([a-z]+.*)$/) {
                    count += 1
                    let command = definitions.command(of: match.output.1)
                    let options = try #require(command?.options)
                    for word in match.output.1.split(separator: " ")
                    where word.hasPrefix("--") {
                        #expect(options.contains(String(word)), "\(match.output.0)")
                    }
                }
            }
            #expect(count >= definitions.commands.count, "\(count)")
        }
    }

    @Test func manualPagesAreReproducible() throws {
        try withTemporaryDirectory { directory in
            try write(directory.path("one"))
            try write(directory.path("two"), environment: ["TZ": "Asia/Tokyo", "LC_ALL": "C"])
            #expect(try pages(directory.path("one")) == pages(directory.path("two")))
            try write(directory.path("old"), environment: ["SOURCE_DATE_EPOCH": "1000000000"])
            for (name, page) in try pages(directory.path("old")) {
                #expect(
                    page.contains("\"2001-09-09\"") || page.contains(".Dd September 9, 2001\n"),
                    "\(name)")
            }
        }
    }

    /// The page has all contents of docs/manifests.md and none of its markup.
    @Test func theManifestPageMatchesItsDocumentation() throws {
        try withTemporaryDirectory { directory in
            try write(directory.path("man"))
            let page = words(try pages(directory.path("man"))["larder-manifest.5"] ?? "")
            let text = try String(contentsOfFile: Self.root + "/docs/manifests.md", encoding: .utf8)
            var headings = 0
            let lines = text.split(separator: "\n")
            for (line, next) in zip(lines, lines.dropFirst()) where !next.hasPrefix("|---") {
                if line.hasPrefix("## ") {
                    headings += 1
                    #expect(
                        page.contains("\n.SH \"\(line.dropFirst(3).uppercased())\"\n"), "\(line)")
                } else if line.hasPrefix("    ") {
                    #expect(page.contains("\n\(line.dropFirst(4))\n"), "\(line)")
                } else if line.hasPrefix("| `") {
                    let cell = line.split(separator: " | ")[0].dropFirst(2)
                    #expect(page.contains("\n.TP\n\(cell.replacing("`", with: ""))\n"), "\(line)")
                }
            }
            #expect(headings > 5)
            #expect(!page.contains("`") && !page.contains("]("))
        }
    }

    @Test(.enabled(if: mandoc != nil, "mandoc is not installed")) func mandocAcceptsTheManualPages()
        throws
    {
        try withTemporaryDirectory { directory in
            try write(directory.path("man"))
            for name in try pages(directory.path("man")).keys {
                let finished = try RunningProcess(
                    try #require(Self.mandoc),
                    [
                        "-T", "lint", "-W", name.hasSuffix(".5") ? "warning" : "error",
                        directory.path("man/\(name)"),
                    ]
                ).wait()
                // A page has no date if the dates of the release and the commit are unknown.
                let messages = finished.standardOutput.split(separator: "\n")
                    .filter { !$0.contains("missing date") }
                #expect(messages.isEmpty, "\(messages)")
            }
        }
    }
}
