import Foundation
import LarderIcons
import LarderTestSupport
import Testing

let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask)[0]
let icons = IconCache(
    directory: caches.appendingPathComponent("icons"),
    bundle: Bundle.main.url(forResource: "AppIcons", withExtension: nil))

func icon(_ url: URL) async throws -> Data? { try await icons.data(for: url) }

@MainActor final class Row {
    let loader: IconLoader
    var url: URL?
    var task: IconTask?
    var show: (IconState) -> Void = { _ in }

    init(_ loader: IconLoader) { self.loader = loader }

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

/// The code of `docs/apps.md`, compiled above.
@Suite struct AppsPageTests {
    @Test func theCodeOfTheAppsPageIsCompiled() throws {
        #expect(try Article.isCompiled("docs/apps.md"))
    }
}
