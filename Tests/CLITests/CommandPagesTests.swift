import Foundation
import Testing

/// The commands and options in the documentation, compared with the program.
@Suite struct CommandPagesTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private let definitions: Definitions
    /// The long options of each command without dashes, by command name.
    private let options: [String: Set<String>]

    init() throws {
        definitions = try Definitions()
        options = Dictionary(
            uniqueKeysWithValues: definitions.commands.map { command in
                (command.name, Set(command.options.map { String($0.dropFirst(2)) }))
            })
    }

    /// Returns the text of each page in `docs`, by path.
    private func pages() throws -> [String: String] {
        let folder = Self.root.appendingPathComponent("docs")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        var texts: [String: String] = [:]
        for path in names.filter({ $0.hasSuffix(".md") }).map({ "docs/\($0)" }) {
            texts[path] = try text(path)
        }
        return texts
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
    }

    /// Returns the long options in a text without dashes.
    private static func options(in text: some StringProtocol) -> Set<String> {
        Set(String(text).matches(of: /(?:^|[^\w-])--([a-z][a-z-]*)/).map { String($0.output.1) })
    }

    @Test func thePageOfOptionsShowsEveryCommand() throws {
        let rows = try OutputDocument("options").table("Commands", "command").words
        let shown = rows.flatMap { row in
            row.matches(of: /larder (\w+[^,]*)/).map { definitions.command(of: $0.output.1)?.name }
        }
        #expect(Set(shown) == Set(definitions.commands.filter { !$0.isGroup }.map(\.name)))
    }

    @Test func everyOptionIsDocumented() throws {
        let mentioned = try pages().values.reduce(into: Set()) {
            $0.formUnion(Self.options(in: $1))
        }
        #expect(options.count > 10)
        for (command, known) in options {
            let missing = known.subtracting(mentioned).subtracting(["help"])
            #expect(missing.isEmpty, "undocumented options of \(command)")
        }
    }

    @Test func everyCommandLineInTheDocumentationIsValid() throws {
        var lines = 0
        var texts = try pages()
        for path in ["README.md", "contrib/README.md"] { texts[path] = try text(path) }
        for (path, text) in texts {
            let joined = text.replacing(/\\\n\s*/, with: " ")
            for match in joined.matches(of: /(?m)(?:^ {4}|^\$ |`)larder (\w+[^`\n|;&]*)/) {
                lines += 1
                let line = match.output.1
                if line.hasPrefix("help") { continue }
                guard let command = definitions.command(of: line), let known = options[command.name]
                else {
                    Issue.record("\(path): unknown command: \(line)")
                    continue
                }
                let unknown = Self.options(in: line).subtracting(known)
                    .filter { !$0.hasPrefix("help") }
                #expect(unknown.isEmpty, "\(path): \(match.output.0)")
            }
        }
        #expect(lines > 50)
    }
}
