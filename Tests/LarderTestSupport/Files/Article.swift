import Foundation

/// A check that the code of documentation articles is compiled in a test.
public enum Article {
    /// Returns whether a test's source contains the article's Swift blocks that begin with
    /// `import`, without their imports and indentation. False if the article has no such block.
    ///
    /// - Parameters:
    ///   - article: The path relative to the package's root.
    ///   - source: The test's file.
    public static func isCompiled(_ article: String, in source: String = #filePath) throws -> Bool {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let text = try String(
            contentsOf: root.appendingPathComponent(article), encoding: .utf8)
        let blocks = text.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
            .filter { $0.hasPrefix("import ") }
        let compiled = unindented(try String(contentsOfFile: source, encoding: .utf8))
        return !blocks.isEmpty
            && blocks.allSatisfy { block in
                let code = block.split(separator: "\n", omittingEmptySubsequences: false)
                    .drop { $0.hasPrefix("import ") || $0.isEmpty }
                return compiled.contains(unindented(code.joined(separator: "\n")))
            }
    }

    /// Removes the indentation, which is deeper in `#if` blocks.
    private static func unindented(_ code: String) -> String {
        code.split(separator: "\n", omittingEmptySubsequences: false)
            .map { String($0.drop { $0 == " " }) }.joined(separator: "\n")
    }
}
