import Foundation
import LarderIcons
import LarderTestSupport
import Testing

func makeLoader(fetcher: (any IconFetcher)?) throws -> IconLoader {
    let caches = try FileManager.default.url(
        for: .cachesDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
    let cache = IconCache(
        directory: caches.appendingPathComponent("icons"),
        bundle: Bundle.main.url(forResource: "icons", withExtension: nil))
    return IconLoader(cache: cache, fetcher: fetcher)
}

func show(_ url: URL, from loader: IconLoader, in view: (IconState) -> Void) async {
    for await state in loader.states(for: url, priority: .veryHigh) { view(state) }
}

/// The article's code, compiled above.
@Suite struct GettingStartedTests {
    @Test func theCodeOfTheIconsArticleIsCompiled() throws {
        #expect(try Article.isCompiled("Sources/LarderIcons/LarderIcons.docc/GettingStarted.md"))
    }
}
