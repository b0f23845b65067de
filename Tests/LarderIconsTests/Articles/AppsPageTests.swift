import Foundation
import LarderIcons
import LarderTestSupport
import Testing

let icons = IconCache(
    directory: FileManager.default.temporaryDirectory.appendingPathComponent("icons"),
    bundle: Bundle.main.url(forResource: "icons", withExtension: nil))

func icon(_ url: URL) async throws -> Data? {
    if let entry = icons.entry(inMemoryFor: url) { return entry.data }
    return try await icons.data(for: url)
}

let memory = MemoryCache()

func icon(_ url: String) -> Data? { memory.entry(for: url)?.data }

/// The code of `docs/apps.md`, compiled above.
@Suite struct AppsPageTests {
    @Test func itsCodeIsCompiled() throws {
        #expect(try Article.codeIs("docs/apps.md"))
    }
}
