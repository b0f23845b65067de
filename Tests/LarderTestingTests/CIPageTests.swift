import Foundation
import LarderTestSupport
import Testing

/// The code of `docs/ci.md` is part of the tests in `Examples/`.
@Suite struct CIPageTests {
    @Test func theCodeOfThePageAboutCIIsInTheExamples() throws {
        let root = URL(fileURLWithPath: #filePath + "/../../..").standardizedFileURL.path
        let source = root + "/Examples/Tests/IconTests/IconTests.swift"
        #expect(try Article.isCompiled("docs/ci.md", in: source))
    }
}
