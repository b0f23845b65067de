import Foundation
import LarderCache
import LarderTestSupport
import Testing

func icon(_ url: String, inCacheAt path: String) throws -> Data? {
    let cache = try Cache.open(at: path)
    guard let resource = try cache.resource(url) else { return nil }
    return Data(try cache.bytes(of: resource.object))
}

/// The code of the article, which is the function above.
@Suite struct GettingStartedTests {
    @Test func theArticlesCodeIsCompiled() throws {
        #expect(try Article.isCompiled("Sources/LarderCache/LarderCache.docc/GettingStarted.md"))
    }

    @Test func theArticlesCodeFindsCachedIcons() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.filled(at: directory.path("cache"), with: ["a": [1, 2, 3]])
            defer { cache.close() }
            #expect(try icon("a", inCacheAt: directory.path("cache")) == Data([1, 2, 3]))
            #expect(try icon("b", inCacheAt: directory.path("cache")) == nil)
        }
    }
}
