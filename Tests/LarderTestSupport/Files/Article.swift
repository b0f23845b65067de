import Foundation

/// The Swift code of documentation articles, which tests compile.
public enum Article {
    private static let root = URL(fileURLWithPath: #filePath + "/../../../..").standardizedFileURL

    /// Returns the article's Swift blocks.
    ///
    /// - Parameter article: The path relative to the package's root.
    public static func blocks(of article: String) throws -> [String] {
        try String(contentsOf: root.appendingPathComponent(article), encoding: .utf8)
            .components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
    }

    /// Returns whether a test's source contains the article's Swift blocks, without their imports
    /// and indentation. False if the article has no such block.
    ///
    /// Ignores manifests of packages, which `EmbeddingTests` compiles, and the call of an
    /// installer, which `SeedInstallerTests` compiles.
    ///
    /// - Parameters:
    ///   - article: The path relative to the package's root.
    ///   - source: The test's file.
    public static func isCompiled(_ article: String, in source: String = #filePath) throws -> Bool {
        let blocks = try blocks(of: article)
            .filter { !$0.contains(".package(") && !$0.contains("Seed.install()") }
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
