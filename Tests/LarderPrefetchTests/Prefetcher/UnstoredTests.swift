import LarderCache
import LarderPrefetch
import LarderTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct UnstoredTests {
    private static let icon = IconPainter.png(seed: 1)

    @Test(arguments: [
        "no-store", "nO-StOrE", "no-store, max-age=3600", "max-age=3600, no-store, immutable",
    ])
    func aNoStoreResponseIsReportedButNotStored(_ directives: String) async throws {
        let origin = try Origin()
        origin.on(
            "/a",
            .ok(Self.icon).header("Cache-Control", directives)
                .header("Expires", "Tue, 19 Jan 2038 14:14:08 GMT"))
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let text = manifest([origin.url("/a"), origin.url("/a")])
            for attempt in 1...2 {
                let (report, results) = try await prefetch(text, into: cache)
                #expect(report.count(.unstored) == 2 && report.entries == 2)
                #expect(report.receivedBytes == Int64(Self.icon.count))
                #expect(results.map(\.bytes) == [Int64(Self.icon.count), Int64(Self.icon.count)])
                #expect(results.map(\.attempts).sorted() == [0, 1])
                #expect(origin.count() == attempt)
            }
            let status = try Cache.open(at: cache).status()
            #expect(status.totals.objects == 0 && status.totals.resources == 0)
            #expect(status.diskBytes == 0 && status.temporaries == 0)
        }
    }

    /// The body exceeds the memory buffer, so it is written to a file first.
    @Test func aLargeNoStoreBodyLeavesNoFiles() async throws {
        let origin = try Origin()
        let icon = IconPainter.largeBMP(seed: 1, bytes: 780_000)
        origin.on("/a", .ok(icon).header("Cache-Control", "no-store"))
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let (report, _) = try await prefetch(manifest([origin.url("/a")]), into: cache)
            #expect(report.count(.unstored) == 1 && report.receivedBytes == Int64(icon.count))
            let status = try Cache.open(at: cache).status()
            #expect(status.totals.objects == 0 && status.temporaries == 0)
        }
    }

    @Test func aNoStoreResponseIsStillValidated() async throws {
        let origin = try Origin()
        origin.on("/a", .ok(Self.icon).header("Cache-Control", "no-store"))
        origin.on("/b", .ok(Self.icon).header("Cache-Control", "no-store"))
        origin.on("/page", .ok("<!DOCTYPE html>").header("Cache-Control", "no-store"))
        try await withTemporaryDirectory { directory in
            let text = """
                [{"icon": "\(origin.url("/page"))"},
                 {"icon": "\(origin.url("/a"))", "size": \(Self.icon.count)},
                 {"icon": "\(origin.url("/b"))", "size": 7}]
                """
            let (report, _) = try await prefetch(text, into: directory.path("cache"))
            #expect(report.failures == ["not-an-image": 1, "size-mismatch": 1])
            #expect(report.count(.unstored) == 1)
        }
    }

    @Test(arguments: ["no-store", "no-store, max-age=0"])
    func aNoStoreResponseDoesNotReplaceAStoredOne(_ directives: String) async throws {
        let origin = try Origin()
        origin.on("/a") { request in
            request.attempt == 1
                ? .ok(Self.icon).header("ETag", "\"1\"").header("Cache-Control", "max-age=0")
                : .ok(IconPainter.png(seed: 2)).header("Cache-Control", directives)
        }
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            let text = manifest([origin.url("/a")])
            #expect(try await prefetch(text, into: path).report.count(.fetched) == 1)
            #expect(try await prefetch(text, into: path).report.count(.unstored) == 1)
            let cache = try Cache.open(at: path)
            let resource = try #require(try cache.resource(origin.url("/a")))
            #expect(try cache.bytes(of: resource.object) == Self.icon)
            #expect(resource.validators.etag == "\"1\"")
        }
    }

    @Test func storesUnstorableStoresNoStoreResponsesAsStale() async throws {
        let origin = try Origin()
        origin.on("/a") { request in
            (request.header("If-None-Match") == nil ? Reply.ok(Self.icon) : .notModified)
                .header("ETag", "\"1\"").header("Cache-Control", "no-store, max-age=3600")
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let text = manifest([origin.url("/a")])
            for outcome in [EntryResult.Outcome.fetched, .revalidated, .revalidated] {
                let (report, _) = try await prefetch(text, into: cache) {
                    $0.storesUnstorable = true
                }
                #expect(report.count(outcome) == 1)
            }
            let opened = try Cache.open(at: cache)
            #expect(try opened.resource(origin.url("/a"))?.isFresh() == false)
        }
    }

    /// `must-understand` overrides `no-store` in caches that know the status (RFC 9111, section
    /// 5.2.2.3).
    @Test func mustUnderstandOverridesNoStore() async throws {
        let origin = try Origin()
        origin.on(
            "/a",
            .ok(Self.icon).header("Cache-Control", "max-age=3600, no-store, must-understand"))
        try await withTemporaryDirectory { directory in
            for outcome in [EntryResult.Outcome.fetched, .cached] {
                let (report, _) = try await prefetch(
                    manifest([origin.url("/a")]), into: directory.path("cache"))
                #expect(report.count(outcome) == 1)
            }
        }
    }
}
