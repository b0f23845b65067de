import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import LarderImages
import LarderTestSupport
import Testing

@testable import LarderPrefetch

/// Failures recorded in the index, and their effect on later runs.
@Suite(.timeLimit(.minutes(30))) struct PastFailureTests {
    private static let icon = IconPainter.png(seed: 1)

    private func plan(
        _ manifest: String, _ path: String, configure: (inout PlanPolicy) -> Void = { _ in }
    ) throws -> (summary: PlanSummary, entries: [PlannedEntry]) {
        var policy = PlanPolicy()
        configure(&policy)
        var entries: [PlannedEntry] = []
        let summary = try Planner(cache: Cache.open(at: path), policy: policy)
            .plan([.bytes(Array(manifest.utf8), name: "test")]) { entries.append($0) }
        return (summary, entries)
    }

    /// Records a failure as a prefetch would have done `ago` seconds earlier.
    private func fail(
        _ key: String, url: String? = nil, _ status: Int, ago: TimeInterval, in path: String
    ) throws {
        let store = try Cache.create(at: path).store()
        store.add(
            Deposit(
                key: key, url: url ?? key, receivedAt: Date(timeIntervalSinceNow: -ago),
                content: .failed(code: "http-\(status)", status: status)),
            for: nil
        ) {}
        store.flush()
        store.close()
    }

    @Test func failedRunsAreCountedUntilOneSucceeds() async throws {
        let origin = try Origin()
        origin.on("/a", .status(403))
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            let text = manifest([origin.url("/a")])
            for count in 1...3 {
                let start = Date()
                #expect(try await prefetch(text, into: path).report.count(.failed) == 1)
                let failure = try #require(try plan(text, path).entries.first?.lastFailure)
                #expect(failure.code == "http-403" && failure.status == 403)
                #expect(failure.count == count)
                #expect(failure.failedAt >= start - 1 && failure.failedAt <= Date() + 1)
                #expect(try Cache.open(at: path).status().totals.failures == 1)
            }

            origin.on("/a", .ok(Self.icon))
            #expect(try await prefetch(text, into: path).report.count(.fetched) == 1)
            #expect(try plan(text, path).entries.first?.lastFailure == nil)
            #expect(try Cache.open(at: path).status().totals.failures == 0)
        }
    }

    @Test func a304AndANoStoreResponseClearTheRecordedFailure() async throws {
        let origin = try Origin()
        let replies: [@Sendable (Request) -> Reply] = [
            { _ in .ok(Self.icon).header("ETag", "\"1\"").header("Cache-Control", "no-cache") },
            { _ in .status(403) }, { _ in .notModified }, { _ in .status(403) },
            { _ in .ok(Self.icon).header("Cache-Control", "no-store") },
        ]
        origin.on("/a") { replies[$0.attempt - 1]($0) }
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            var remembered: [Int] = []
            for _ in replies {
                _ = try await prefetch(manifest([origin.url("/a")]), into: path)
                remembered.append(try Cache.open(at: path).status().totals.failures)
            }
            #expect(remembered == [0, 1, 0, 1, 0])
        }
    }

    @Test(arguments: [
        (Reply.ok("text"), "not-an-image", nil), (.status(500), "http-500", 500),
        (.ok(icon).reset(after: 0), "connection-lost", nil),
    ])
    func theReasonOfAFailureIsRecorded(
        _ reply: Reply, _ code: String, _ status: Int?
    ) async throws {
        let origin = try Origin()
        origin.on("/a", reply)
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            let text = manifest([origin.url("/a")])
            _ = try await prefetch(text, into: path) { $0.retry.attempts = 1 }
            let failure = try plan(text, path).entries.first?.lastFailure
            #expect(failure?.code == code && failure?.status == status)
        }
    }

    @Test func eachRecordedCodeHasASentence() {
        let codes =
            TransferError.Code.allCases.map(\.rawValue) + ImageError.Code.allCases.map(\.rawValue)
            + ResourceFailure.Reason.allCases.map(\.rawValue)
        for code in codes {
            let failure = ResourceFailure(code: code, message: "", isTransient: false)
            guard failure.isRemembered else { continue }
            let past = PastFailure(code: code, status: nil, failedAt: Date(), count: 1)
            #expect(past.reason.hasPrefix("the ") && !past.reason.contains("("), "\(code)")
        }
        let later = PastFailure(code: "later", status: nil, failedAt: Date(), count: 1)
        #expect(later.reason == "the download failed (later)")
    }

    @Test func anInterruptedFetchIsNotRecordedAsAFailure() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.on("/a", .ok(Self.icon).heldBy(gate))
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            var configuration = PrefetchConfiguration(cache: path)
            configuration.transfer.addressPolicy = .allowAll
            configuration.grace = .zero
            let prefetcher = Prefetcher(configuration)
            async let finished = collect(prefetcher, manifest([origin.url("/a")]))
            try await origin.waitForRequests(1)
            prefetcher.cancel()
            #expect(try await finished.report.count(.unfinished) == 1)
            gate.open()
            #expect(try Cache.open(at: path).status().totals.failures == 0)
        }
    }

    // MARK: Gone icons

    @Test(arguments: [404, 410]) func goneIconsAreNotRequestedAgain(_ status: Int) async throws {
        let origin = try Origin()
        origin.on("/a", .status(status))
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            origin.on("/b", .ok(Self.icon))
            let text = manifest([origin.url("/a"), origin.url("/b"), origin.url("/a")])
            let first = try await prefetch(text, into: path).report
            let (second, results) = try await prefetch(text, into: path)
            #expect(origin.count("/a") == 1)
            #expect(first.failures == second.failures && second.failures == ["http-\(status)": 2])
            #expect(second.count(.failed) == 2 && second.count(.cached) == 1)
            let failed = results.filter { $0.outcome == .failed }
            #expect(failed.map(\.attempts) == [0, 0])
            #expect(failed.allSatisfy { $0.failure?.message.contains("--retry-gone") == true })
            // Entries without a request do not increase the number of failures.
            let (summary, entries) = try plan(text, path)
            #expect(entries.compactMap(\.lastFailure?.count) == [1, 1])
            #expect(entries.map(\.statusWord).sorted() == ["cached", "failed", "failed"])
            #expect((summary.remembered, summary.failed, summary.missing) == (1, 2, 0))

            let forced = try await prefetch(text, into: path) { $0.policy.failureLifetime = .zero }
            #expect(forced.report.count(.failed) == 2 && origin.count("/a") == 2)
        }
    }

    @Test(arguments: [403, 500, 503, 400]) func otherFailedIconsAreRequestedAgain(
        _ status: Int
    ) throws {
        try withTemporaryDirectory { directory in
            try fail("http://h/a", status, ago: 60, in: directory.path)
            let summary = try plan(manifest(["http://h/a"]), directory.path).summary
            #expect((summary.remembered, summary.missing, summary.failed) == (0, 1, 0))
        }
    }

    @Test(arguments: [
        (3500.0, Duration.seconds(3600), 1), (3700, .seconds(3600), 0), (60, .zero, 0),
        (3700, .seconds(7200), 1),
        // The failure has a later time than now, for example because the clock was wrong.
        (-600, .seconds(3600), 0),
    ])
    func aGoneIconIsRequestedAfterTheFailureLifetime(
        _ ago: Double, _ lifetime: Duration, _ remembered: Int
    ) throws {
        try withTemporaryDirectory { directory in
            try fail("http://h/a", 404, ago: ago, in: directory.path)
            let summary = try plan(manifest(["http://h/a"]), directory.path) {
                $0.failureLifetime = lifetime
            }.summary
            #expect(summary.remembered == remembered && summary.missing == 1 - remembered)
        }
    }

    @Test func aNewURLForTheKeyOfAGoneIconIsRequested() throws {
        try withTemporaryDirectory { directory in
            try fail(
                ResourceKey.named("icon"), url: "http://h/old", 404, ago: 60, in: directory.path)
            for (url, remembered) in [("http://h/old", 1), ("http://h/new", 0)] {
                let text = #"[{"icon": "\#(url)", "key": "icon"}]"#
                #expect(try plan(text, directory.path).summary.remembered == remembered)
            }
        }
    }

    @Test func aFreshIconIsUsedDespiteARecordedFailure() async throws {
        let origin = try Origin()
        origin.on("/a") { request in
            request.attempt == 1
                ? .ok(Self.icon).header("Cache-Control", "max-age=3600") : .status(404)
        }
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            let text = manifest([origin.url("/a")])
            _ = try await prefetch(text, into: path)
            let always = try await prefetch(text, into: path) {
                $0.policy.revalidation = .always
            }
            #expect(always.report.failures == ["http-404": 1])
            #expect(try await prefetch(text, into: path).report.count(.cached) == 1)
            // For a stale icon, the recorded failure applies.
            #expect(try plan(text, path) { $0.revalidation = .always }.summary.remembered == 1)
        }
    }

    // MARK: Only entries that failed before

    @Test func retriesOnlyFailedFetchesOnlyEntriesThatFailedBefore() async throws {
        let origin = try Origin()
        for path in ["/cached", "/stale"] {
            origin.on(
                path,
                .ok(Self.icon).header(
                    "Cache-Control", path == "/stale" ? "max-age=0" : "max-age=3600"))
        }
        origin.on("/gone", .status(410))
        origin.on("/denied", .status(403))
        origin.on("/new", .ok(Self.icon))
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            let old = ["/cached", "/stale", "/gone", "/denied"].map { origin.url($0) }
            _ = try await prefetch(manifest(old), into: path)
            origin.on("/gone", .ok(Self.icon))
            origin.resetLog()
            let text = """
                [\(old.map { #"{"icon": "\#($0)"},"# }.joined())
                 {"icon": "\(origin.url("/new"))"}, {"icon": "ftp://h/a"}, {"name": "none"}]
                """
            let (summary, entries) = try plan(text, path) { $0.retriesOnlyFailed = true }
            #expect((summary.missing, summary.stale, summary.cached) == (2, 0, 1))
            #expect((summary.leftAlone, summary.skipped, summary.failed) == (2, 4, 0))
            #expect(entries.count == 7)

            let (report, results) = try await prefetch(text, into: path) {
                $0.policy.retriesOnlyFailed = true
            }
            #expect(Set(origin.requests.map(\.path)) == ["/gone", "/denied"])
            let outcomes = results.sorted { $0.position < $1.position }
            #expect(
                outcomes.map(\.outcome)
                    == [.cached, .skipped, .fetched, .failed, .skipped, .skipped, .skipped])
            #expect(
                outcomes.map { $0.failure?.code } == [
                    nil, "not-failed-before", nil, "http-403", "not-failed-before",
                    "other-scheme", "no-icon",
                ])
            #expect(report.failures == ["http-403": 1])
        }
    }

    @Test func retriesOnlyFailedSkipsAllEntriesWithoutACache() throws {
        var policy = PlanPolicy()
        policy.retriesOnlyFailed = true
        let text = Array(manifest(["http://h/a"]).utf8)
        let summary = try Planner(cache: nil, policy: policy)
            .plan([.bytes(text, name: "test")]) { _ in }
        #expect((summary.leftAlone, summary.missing, summary.skipped) == (1, 0, 1))
    }
}
