import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest
import LarderPrefetch
import LarderTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct PrefetcherTests {
    @Test func aPrefetchStoresTheIconsOfTheOrigin() async throws {
        let origin = try Origin()
        let icons = (0..<20).map { IconPainter.png(seed: $0) }
        for (number, icon) in icons.enumerated() { origin.on("/\(number).png", .ok(icon)) }
        try await withTemporaryDirectory { directory in
            let urls = icons.indices.map { origin.url("/\($0).png") }
            let (report, results) = try await prefetch(
                manifest(urls), into: directory.path("cache"))
            #expect(report.count(.fetched) == 20 && report.entries == 20)
            #expect(report.receivedBytes == icons.reduce(0) { $0 + Int64($1.count) })
            let cache = try Cache.open(at: directory.path("cache"))
            for (url, icon) in zip(urls, icons) {
                let resource = try #require(try cache.resource(url))
                #expect(try cache.bytes(of: resource.object) == icon)
                let result = try #require(results.first { $0.url == url })
                #expect(result.digest == resource.object.digest)
                #expect(result.bytes == Int64(icon.count))
                #expect(result.attributes.mediaType == "image/png")
                #expect(result.attributes.width == 48 && result.attributes.height == 48)
            }
            #expect(try cache.verify().isClean)
            #expect(try cache.status().temporaries == 0)
        }
    }

    @Test func everyEntryIsReportedOnceAndCountedInTheReport() async throws {
        let origin = try Origin()
        origin.on("/a", .ok(IconPainter.png(seed: 1)))
        origin.on("/page", .ok("<!DOCTYPE html><title>no icon</title>", type: "image/png"))
        try await withTemporaryDirectory { directory in
            let text = """
                [{"icon": "\(origin.url("/a"))"}, {"icon": "\(origin.url("/a"))"}, {"name": "none"},
                 {"icon": "\(origin.url("/page"))"}, {"icon": "\(origin.url("/gone"))"},
                 {"icon": "ftp://h/x"}]
                """
            let (report, results) = try await prefetch(text, into: directory.path("cache"))
            #expect(results.map(\.position).sorted() == [1, 2, 3, 4, 5, 6])
            let byPosition = results.sorted { $0.position < $1.position }.map(\.outcome)
            #expect(byPosition == [.fetched, .coalesced, .skipped, .failed, .failed, .skipped])
            #expect(report.failures == ["not-an-image": 1, "http-404": 1])
            #expect(report.plan.unfetched == ["other-scheme": 1])
            for outcome in EntryResult.Outcome.allCases {
                #expect(report.count(outcome) == results.count { $0.outcome == outcome })
            }
            #expect(origin.count("/a") == 1)
        }
    }

    @Test func entriesOfOneURLAreCheckedAgainstTheirOwnSizes() async throws {
        let origin = try Origin()
        let icon = IconPainter.png(seed: 1)
        origin.on("/a", .ok(icon))
        try await withTemporaryDirectory { directory in
            let text = """
                [{"icon": "\(origin.url("/a"))"},
                 {"icon": "\(origin.url("/a"))", "size": 7}]
                """
            let (report, results) = try await prefetch(text, into: directory.path("cache"))
            let byPosition = results.sorted { $0.position < $1.position }.map(\.outcome)
            #expect(byPosition == [.fetched, .failed])
            #expect(report.failures == ["size-mismatch": 1])
        }
    }

    @Test func bytesThatNoEntryAcceptsAreNotStored() async throws {
        let origin = try Origin()
        origin.on("/a", .ok(IconPainter.png(seed: 1)))
        try await withTemporaryDirectory { directory in
            let other = String(repeating: "a", count: 64)
            let text = #"[{"icon": "\#(origin.url("/a"))", "sha256": "\#(other)"}]"#
            let (report, _) = try await prefetch(text, into: directory.path("cache"))
            #expect(report.failures == ["integrity-mismatch": 1])
            #expect(try Cache.open(at: directory.path("cache")).status().totals.objects == 0)
        }
    }

    @Test func aStaleEntryIsRevalidatedAndKeepsItsValidator() async throws {
        let origin = try Origin()
        let icon = IconPainter.png(seed: 1)
        origin.on("/a") { request in
            // The 304 omits the ETag, so the stored one must be kept.
            request.header("If-None-Match") == #""v1""#
                ? .notModified.header("Cache-Control", "max-age=0")
                : .ok(icon).header("ETag", #""v1""#).header("Cache-Control", "max-age=0")
        }
        try await withTemporaryDirectory { directory in
            let text = manifest([origin.url("/a")])
            let cache = directory.path("cache")
            #expect(try await prefetch(text, into: cache).report.count(.fetched) == 1)
            for _ in 0..<2 {
                let (report, _) = try await prefetch(text, into: cache)
                #expect(report.count(.revalidated) == 1 && report.receivedBytes == 0)
            }
            #expect(origin.count("/a") == 3)
        }
    }

    @Test func aValidatorIsSentToTheRedirectTargetItCameFrom() async throws {
        let origin = try Origin()
        origin.on("/a", .redirect(to: "/b"))
        origin.on("/b") { request in
            request.header("If-None-Match") == #""v1""#
                ? .notModified
                : .ok(IconPainter.png(seed: 1)).header("ETag", #""v1""#)
                    .header("Cache-Control", "no-cache")
        }
        try await withTemporaryDirectory { directory in
            let text = manifest([origin.url("/a")])
            let cache = directory.path("cache")
            #expect(try await prefetch(text, into: cache).report.count(.fetched) == 1)
            let (report, _) = try await prefetch(text, into: cache)
            #expect(report.count(.revalidated) == 1 && report.receivedBytes == 0)
            // The redirecting URL has no validator.
            let conditions = origin.requests.map { $0.header("If-None-Match") }
            #expect(conditions == [nil, nil, nil, #""v1""#])
            // The validator does not apply to another target of the redirect.
            origin.on("/a", .redirect(to: "/c"))
            origin.on("/c") { request in
                request.header("If-None-Match") != nil
                    ? .notModified : .ok(IconPainter.png(seed: 2))
            }
            #expect(try await prefetch(text, into: cache).report.count(.fetched) == 1)
        }
    }

    /// The target stays fresh for long, but the redirect may change earlier.
    @Test(
        arguments: [
            (302, nil, 2), (307, nil, 2), (302, "max-age=600", 0), (302, "no-store", 2),
            (301, nil, 0),
            (308, "no-cache", 2),
        ] as [(Int, String?, Int)])
    func anEntryIsFreshOnlyAsLongAsItsRedirect(
        _ status: Int, _ directive: String?, _ asked: Int
    ) async throws {
        let origin = try Origin()
        let redirect = Reply.redirect(to: "/b", status: status)
        origin.on("/a", directive.map { redirect.header("Cache-Control", $0) } ?? redirect)
        origin.on("/b") { request in
            request.header("If-None-Match") == nil
                ? .ok(IconPainter.png(seed: 1)).header("ETag", "\"1\"")
                    .header("Cache-Control", "max-age=31536000, immutable")
                : .notModified
        }
        try await withTemporaryDirectory { directory in
            let text = manifest([origin.url("/a")])
            _ = try await prefetch(text, into: directory.path("cache"))
            origin.resetLog()
            let (report, _) = try await prefetch(text, into: directory.path("cache"))
            #expect(origin.count() == asked)
            #expect(report.count(asked == 0 ? .cached : .revalidated) == 1)
            #expect(report.receivedBytes == 0)
            _ = try await prefetch(text, into: directory.path("cache")) {
                $0.policy.revalidation = .always
            }
            #expect(origin.count() == asked + 2)
        }
    }

    @Test func anEntryEvictedDuringTheRunIsReportedOnce() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.on("/a") { request in
            request.header("If-None-Match") == nil
                ? .ok(IconPainter.png(seed: 1)).header("ETag", "\"1\"")
                    .header("Cache-Control", "no-cache")
                : .notModified
        }
        origin.on("/b", Reply.ok(IconPainter.png(seed: 2)).heldBy(gate))
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            _ = try await prefetch(manifest([origin.url("/a")]), into: cache)
            origin.resetLog()
            let text = manifest(["/a", "/b"].map { origin.url($0) })
            async let finished = prefetch(text, into: cache) { $0.retry.attempts = 1 }
            try await origin.waitForRequests(2)
            // Deletes the object after its 304 has arrived and before the result is committed.
            let index = try DatabaseQueue(path: cache + "/index.sqlite")
            try await index.write { try $0.execute(sql: "DELETE FROM objects") }
            gate.open()
            let (report, results) = try await finished
            #expect(results.count == 2)
            #expect(report.entries == 2)
            #expect(report.outcomes.values.reduce(0, +) == 2)
        }
    }

    @Test func aValidatorIsSentOnlyToTheURLItCameFrom() async throws {
        let origin = try Origin()
        let old = IconPainter.png(seed: 1)
        let new = IconPainter.png(seed: 2)
        // Two resources with equal validators, which is common for dates and short ETags.
        for (path, icon) in [("/old", old), ("/new", new)] {
            origin.on(path) { request in
                request.header("If-None-Match") != nil
                    ? .notModified
                    : .ok(icon).header("ETag", #""1""#).header("Cache-Control", "max-age=0")
            }
        }
        origin.on("/latest") { request in
            .redirect(to: request.attempt == 1 ? "/old" : "/new")
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            for (first, second) in [
                (origin.url("/latest"), origin.url("/latest")),
                (origin.url("/old"), origin.url("/new")),
            ] {
                for url in [first, second] {
                    let text = #"[{"icon": "\#(url)", "key": "icon of \#(first)"}]"#
                    #expect(try await prefetch(text, into: cache).report.count(.fetched) == 1)
                }
                let opened = try Cache.open(at: cache)
                let resource = try #require(
                    try opened.resource(ResourceKey.named("icon of \(first)")))
                #expect(try opened.bytes(of: resource.object) == new)
            }
        }
    }

    @Test func aPrefetcherCanBeUsedAgain() async throws {
        let origin = try Origin()
        origin.on("/a", .ok(IconPainter.png(seed: 1)).header("Cache-Control", "max-age=3600"))
        try await withTemporaryDirectory { directory in
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            let prefetcher = Prefetcher(configuration)
            for outcome in [EntryResult.Outcome.fetched, .cached] {
                let (report, _) = try await collect(prefetcher, manifest([origin.url("/a")]))
                #expect(report.count(outcome) == 1 && !report.isInterrupted)
            }
        }
    }

    @Test func aBodyLargerThanTheMemoryBufferIsStored() async throws {
        let origin = try Origin()
        let icon = IconPainter.largeBMP(seed: 1, bytes: 3_000_000)
        origin.on("/large", .ok(icon))
        try await withTemporaryDirectory { directory in
            let (report, _) = try await prefetch(
                manifest([origin.url("/large")]), into: directory.path("cache"))
            #expect(report.count(.fetched) == 1)
            let cache = try Cache.open(at: directory.path("cache"))
            let object = try #require(try cache.resource(origin.url("/large"))).object
            #expect(try cache.bytes(of: object) == icon)
        }
    }

    @Test func aStoredNonImageFailsInARunThatRequiresImages() async throws {
        let origin = try Origin()
        origin.on("/a", .ok("just text").header("Cache-Control", "max-age=3600"))
        try await withTemporaryDirectory { directory in
            let text = manifest([origin.url("/a")])
            let cache = directory.path("cache")
            let any = try await prefetch(text, into: cache) { $0.acceptsAnyContent = true }
            #expect(any.report.count(.fetched) == 1)
            let again = try await prefetch(text, into: cache) { $0.acceptsAnyContent = true }
            #expect(again.report.count(.cached) == 1)
            #expect(try await prefetch(text, into: cache).report.failures == ["not-an-image": 1])
        }
    }

    @Test func aCancelledRunFinishesFetchesInFlightAndReportsTheRest() async throws {
        let origin = try Origin()
        let gate = try Gate()
        for number in 0..<10 {
            origin.on("/\(number)", .ok(IconPainter.png(seed: number)).heldBy(gate))
        }
        try await withTemporaryDirectory { directory in
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            configuration.maximumConcurrent = 2
            configuration.grace = .seconds(60)
            let prefetcher = Prefetcher(configuration)
            async let finished = collect(
                prefetcher, manifest((0..<10).map { origin.url("/\($0)") }))
            try await origin.waitForRequests(2)
            prefetcher.cancel()
            gate.open()
            let (report, results) = try await finished
            #expect(report.isInterrupted)
            #expect(results.count == 10)
            // Two requests had reached the origin. The queue may have started two more.
            #expect((2...4).contains(report.count(.fetched)))
            #expect(report.count(.fetched) + report.count(.unfinished) == 10)
            #expect(try Cache.open(at: directory.path("cache")).verify().isClean)
        }
    }

    @Test func aRunCanBeCancelledAfterPlanningAndBeforeTheFirstRequest() async throws {
        let origin = try Origin()
        try await withTemporaryDirectory { directory in
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            let prefetcher = Prefetcher(configuration)
            let source = ManifestSource.bytes(
                Array(manifest([origin.url("/a")]).utf8), name: "test")
            var last: Report?
            let events = prefetcher.prefetch([source]) { prefetcher.cancel() }
            for try await case .finished(let report) in events { last = report }
            let report = try #require(last)
            #expect(report.isInterrupted && report.count(.unfinished) == 1)
            #expect(origin.count() == 0)
        }
    }

    /// Regression: requests refused before the queue noticed the cancellation were reported as
    /// failed.
    @Test func requestsRefusedByACancellationAreUnfinished() async throws {
        let origin = try Origin()
        let icon = IconPainter.png(seed: 1)
        let text = manifest((0..<400).map { origin.url("/\($0)") })
        for round in 1...40 {
            try await withTemporaryDirectory { directory in
                var configuration = PrefetchConfiguration(cache: directory.path("cache"))
                configuration.transfer.addressPolicy = .allowAll
                configuration.maximumConcurrent = 32
                configuration.maximumPerHost = 32
                let prefetcher = Prefetcher(configuration)
                // The origin's thread cancels the run while other fetches are in flight.
                origin.onAny { request in
                    if request.path == "/\(round * 5)" { prefetcher.cancel() }
                    return .ok(icon)
                }
                let (report, _) = try await collect(prefetcher, text)
                #expect(report.isInterrupted && report.count(.failed) == 0, "\(report.failures)")
            }
        }
    }

    @Test func droppingTheEventSequenceEndsTheRun() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.on("/a", .ok(IconPainter.png(seed: 1)).heldBy(gate))
        try await withTemporaryDirectory { directory in
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            configuration.grace = .zero
            let events = Prefetcher(configuration).prefetch(
                [.bytes(Array(manifest([origin.url("/a")]).utf8), name: "test")])
            for try await event in events {
                if case .planned = event { break }
            }
            // The abandoned run does not block another run with the same cache.
            gate.open()
            let (report, _) = try await prefetch(
                manifest([origin.url("/a")]), into: directory.path("cache"))
            #expect(report.count(.failed) == 0)
        }
    }

    @Test func anUnreadableManifestThrows() async throws {
        try await withTemporaryDirectory { directory in
            _ = await #expect(throws: ManifestError.self) {
                try await prefetch("no manifest", into: directory.path("cache"))
            }
        }
    }
}
