import Foundation

/// A documentation article, for tests that compile its code.
public enum Article {
    /// Whether all Swift code that begins with `import` is in a test's source, but for its imports.
    ///
    /// - Parameters:
    ///   - article: its path beneath the package's root.
    ///   - source: the test's file.
    public static func codeIs(_ article: String, in source: String = #filePath) throws -> Bool {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let text = try String(
            contentsOf: root.appendingPathComponent(article), encoding: .utf8)
        let blocks = text.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
            .filter { $0.hasPrefix("import ") }
        let compiled = try String(contentsOfFile: source, encoding: .utf8)
        return !blocks.isEmpty
            && blocks.allSatisfy { block in
                let code = block.split(separator: "\n", omittingEmptySubsequences: false)
                    .drop { $0.hasPrefix("import ") || $0.isEmpty }
                return compiled.contains(code.joined(separator: "\n"))
            }
    }
}
