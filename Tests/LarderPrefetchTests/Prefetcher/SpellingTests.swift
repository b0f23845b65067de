import LarderCache
import LarderTestSupport
import Testing

/// Lookups of icons by the text in the manifest, as an app does them.
@Suite struct SpellingTests {
    private func withOrigin(
        _ body: (_ origin: Origin, _ cache: String) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let origin = try Origin()
            let reply = Reply.ok(IconPainter.png(seed: 1, size: 8), type: "image/png")
                .header("Cache-Control", "max-age=86400")
            origin.onAny { _ in reply }
            try await body(origin, directory.path("cache"))
        }
    }

    private func find(_ text: String, in path: String) throws -> String? {
        let cache = try Cache.open(at: path)
        defer { cache.close() }
        return try cache.resource(spelledAs: text)?.key
    }

    private func recorded(in path: String) throws -> [String] {
        let cache = try Cache.open(at: path)
        defer { cache.close() }
        var texts: [String] = []
        try cache.forEachSpelling { texts.append($0.text) }
        return texts
    }

    /// The request uses the first spelling.
    @Test func differentSpellingsOfAURLAreFetchedOnce() async throws {
        try await withOrigin { origin, cache in
            let paths = ["/a%7e|b?'", "/a~%7Cb?%27", "/x/../%61~%7cb?'"]
            let urls = paths.map { origin.url($0) }
            let (report, results) = try await prefetch(manifest(urls), into: cache)
            #expect(report.count(.fetched) + report.count(.coalesced) == 3)
            #expect(origin.requests.map(\.target) == ["/a%7e%7Cb?%27"])
            for url in urls { #expect(try find(url, in: cache) == origin.url("/a~%7Cb?%27")) }
            // Results show the requested URL. Its query has no secrets.
            #expect(results.first?.url == origin.url("/a%7e%7Cb?%27"))
            let (again, _) = try await prefetch(manifest(urls.reversed()), into: cache)
            #expect(again.count(.fetched) == 0 && origin.requests.count == 1)
        }
    }

    @Test func nonASCIIBytesOfALocationArePercentEncoded() async throws {
        try await withOrigin { origin, cache in
            let head = Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /caf".utf8)
            origin.on("/start", .raw(head + [0xE9] + Array("|.png\r\n\r\n".utf8)))
            let (report, _) = try await prefetch(manifest([origin.url("/start")]), into: cache)
            #expect(report.count(.fetched) == 1)
            #expect(origin.requests.map(\.target) == ["/start", "/caf%E9%7C.png"])
        }
    }

    @Test func anIconIsFoundByItsKeyAndByTheSpellingInTheManifest() async throws {
        try await withOrigin { origin, cache in
            let url = origin.url("/a%7Eb?x")
            let spelling = url.replacing("http://", with: "HTTP://") + "#icon"
            _ = try await prefetch(manifest([spelling]), into: cache)
            let key = try #require(try find(spelling, in: cache))
            #expect(key != spelling && !key.contains("#"))
            #expect(try find(key, in: cache) == key)
        }
    }

    @Test func theSpellingOfALaterManifestIsRecordedForACachedIcon() async throws {
        try await withOrigin { origin, cache in
            let url = origin.url("/a")
            _ = try await prefetch(manifest([url]), into: cache)
            #expect(try recorded(in: cache) == [])
            let (report, _) = try await prefetch(manifest([url + "#b", url]), into: cache)
            #expect(report.count(.fetched) == 0)
            #expect(try recorded(in: cache) == [url + "#b"])
            #expect(try find(url + "#b", in: cache) == url)
        }
    }

    /// The icon of a key can come from any URL, so a lookup by URL must not find it.
    @Test func anIconWithAKeyIsNotFoundByItsURL() async throws {
        try await withOrigin { origin, cache in
            for url in [origin.url("/mine"), origin.url("/yours") + "#b"] {
                _ = try await prefetch(#"[{"icon": "\#(url)", "key": "logo"}]"#, into: cache)
                #expect(try find(url, in: cache) == nil)
            }
            #expect(try find("key:logo", in: cache) == "key:logo")
        }
    }

    @Test func aURLWithCredentialsIsNotRecorded() async throws {
        try await withOrigin { origin, cache in
            let url = origin.url("/a")
            let secret = url.replacing("http://", with: "http://user:secret@")
            _ = try await prefetch(manifest([secret]), into: cache) {
                $0.manifestRules.baseURL = nil
            }
            #expect(try find(secret, in: cache) == nil)
            #expect(try find(url, in: cache) != nil)
        }
    }

    @Test func noSpellingIsRecordedForAFailedIcon() async throws {
        try await withOrigin { origin, cache in
            origin.onAny { _ in .status(404) }
            let url = origin.url("/a") + "#b"
            _ = try await prefetch(manifest([url]), into: cache)
            #expect(try find(url, in: cache) == nil)
        }
    }
}
