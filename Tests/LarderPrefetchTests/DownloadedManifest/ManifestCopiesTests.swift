import LarderCache
import LarderCore
import LarderManifest
import LarderPrefetch
import LarderTestSupport
import Testing

/// Manifests stored in the cache, and the conditional requests for them.
@Suite(.timeLimit(.minutes(30))) struct ManifestCopiesTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    /// Returns the icon URLs that a run finds in the manifest at `/apps.json`. The icons have no
    /// replies.
    private func icons(
        _ origin: Origin, _ cache: String, agent: String = "one"
    ) async throws -> [String?] {
        var configuration = PrefetchConfiguration(cache: cache)
        configuration.transfer.addressPolicy = .allowAll
        configuration.transfer.userAgent = agent
        configuration.retry.base = .milliseconds(1)
        let manifest = try HTTPURL(origin.url("/apps.json"))
        var icons: [String?] = []
        for try await event in Prefetcher(configuration).prefetch([.url(manifest)]) {
            if case .entry(let result) = event { icons.append(result.url) }
        }
        return icons
    }

    /// Returns the value of a header field in each request for the manifest.
    private func conditions(_ origin: Origin, _ name: String) -> [String?] {
        origin.requests.filter { $0.path == "/apps.json" }.map { $0.header(name) }
    }

    @Test func a304ForAnotherVersionOfAManifestIsIgnored() async throws {
        let origin = try Origin()
        origin.on("/apps.json") { request in
            request.header("If-None-Match") == nil
                ? .ok(#"[{"icon": "\#(request.attempt)"}]"#)
                    .header("ETag", "\"\(request.attempt)\"")
                : .notModified.header("ETag", "\"other\"")
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let first = try await icons(origin, cache)
            let second = try await icons(origin, cache)
            #expect((first, second) == ([origin.url("/1")], [origin.url("/3")]))
            #expect(conditions(origin, "If-None-Match") == [nil, "\"1\"", nil])
        }
    }

    /// Variants often have the same modification date, so only an ETag distinguishes them.
    @Test func aManifestOfAnotherVariantIsNotRevalidatedByDate() async throws {
        let origin = try Origin()
        origin.on("/apps.json") { request in
            .ok(#"[{"icon": "\#(request.header("User-Agent") ?? "")"}]"#)
                .header("ETag", "\"\(request.attempt)\"").header("Last-Modified", Self.date)
                .header("Vary", "User-Agent")
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            for agent in ["one", "one", "other"] {
                let found = try await icons(origin, cache, agent: agent)
                #expect(found == [origin.url("/\(agent)")])
            }
            #expect(conditions(origin, "If-None-Match") == [nil, "\"1\"", "\"2\""])
            #expect(conditions(origin, "If-Modified-Since") == [nil, Self.date, nil])
        }
    }

    /// Such a 304 confirms the bytes, but its fields are not stored.
    @Test func aNoStore304DoesNotChangeTheStoredManifest() async throws {
        let origin = try Origin()
        origin.on("/apps.json") { request in
            request.header("If-None-Match") == nil
                ? .ok(#"[{"icon": "a"}]"#).header("ETag", "\"1\"")
                : .notModified.header("Cache-Control", "no-store")
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            for _ in 1...3 {
                let found = try await icons(origin, cache)
                #expect(found == [origin.url("/a")])
            }
            #expect(conditions(origin, "If-None-Match") == [nil, "\"1\"", "\"1\""])
            let kept = try Cache.open(at: cache).resource(origin.url("/apps.json"))
            #expect(kept?.validators.cacheControl == nil)
        }
    }

    @Test func aCachedManifestIsReadWithoutTheNetwork() async throws {
        let origin = try Origin(replies: ["/apps.json": .ok(#"[{"icon": "a"}]"#)])
        try await withTemporaryDirectory { directory in
            let source = ManifestSource.url(try HTTPURL(origin.url("/apps.json")))
            _ = try await icons(origin, directory.path("cache"))
            let requestCount = origin.count()
            let cache = try Cache.open(at: directory.path("cache"))
            let summary = try ManifestReader(source: source.cached { try cache.manifest($0)?.file })
                .read { item in
                    guard case .entry(let entry) = item.result else { return }
                    #expect(entry.icon.string == origin.url("/a"))
                }
            #expect(summary.entries == 1)
            let error = #expect(throws: ManifestError.self) {
                try ManifestReader(source: source.cached { _ in nil }).read { _ in }
            }
            #expect(error?.code == .missing)
            #expect(origin.count() == requestCount)
        }
    }
}
