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

@MainActor final class Row {
    let loader: IconLoader
    var url: URL?
    var task: IconTask?
    var show: (IconState) -> Void = { _ in }

    init(_ loader: IconLoader) { self.loader = loader }

    /// The row appears, perhaps in a view that another row had before.
    func appear(_ url: URL) {
        task?.cancel()
        self.url = url
        show(loader.state(for: url))
        task = loader.load(url, priority: .veryHigh) { state in
            Task { @MainActor in if self.url == url { self.show(state) } }
        }
    }

    func disappear() {
        task?.cancel()
        url = nil
    }
}

let memory = MemoryCache()

func icon(_ url: String) -> Data? { memory.entry(for: url)?.data }

/// The code of `docs/apps.md`, compiled above.
@Suite struct AppsPageTests {
    @Test func itsCodeIsCompiled() throws {
        #expect(try Article.codeIs("docs/apps.md"))
    }
}
