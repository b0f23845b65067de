import Foundation
import LarderIcons
import LarderTestSupport
import Testing

let memory = MemoryCache()

func icon(_ url: String) -> Data? { memory.entry(for: url)?.data }

/// The code of `docs/apps.md`, compiled above.
@Suite struct AppsPageTests {
    @Test func itsCodeIsCompiled() throws {
        #expect(try Article.codeIs("docs/apps.md"))
    }
}
