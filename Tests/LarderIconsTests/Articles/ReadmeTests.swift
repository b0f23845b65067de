import Foundation
import LarderTestSupport
import Testing

/// The README has the same code as `docs/apps.md`, which ``AppsPageTests`` compiles.
@Suite struct ReadmeTests {
    @Test func itsCodeIsCompiled() throws {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("AppsPageTests.swift").path
        #expect(try Article.isCompiled("README.md", in: source))
    }
}
