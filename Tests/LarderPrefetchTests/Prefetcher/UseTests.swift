import Foundation
import GRDB
import LarderCache
import LarderTestSupport
import Testing

@testable import LarderCore
@testable import LarderManifest
@testable import LarderPrefetch

/// The time of last use, which fresh hits update without a request.
@Suite(.timeLimit(.minutes(30))) struct UseTests {
    @Test func aFreshHitUpdatesTheTimeOfLastUse() async throws {
        try await withTemporaryDirectory { directory in
            let origin = try Origin()
            let icon = IconPainter.svg(seed: 1, size: 16)
            for path in ["/used", "/other"] {
                origin.on(path, .ok(icon + Array(path.utf8), type: "image/svg+xml"))
            }
            let urls = ["/used", "/other"].map { origin.url($0) }
            let path = directory.path("cache")
            _ = try await prefetch(manifest(urls), into: path) { $0.acceptsAnyContent = true }
            try age(urls, in: path, to: Date(timeIntervalSinceNow: -7_200))
            origin.resetLog()

            let (report, _) = try await prefetch(manifest([urls[0]]), into: path) {
                $0.acceptsAnyContent = true
            }
            #expect(report.count(.cached) == 1)
            #expect(origin.requests.isEmpty)
            let cache = try Cache.open(at: path)
            let used = try urls.map {
                try #require(try cache.resource($0)).object.usedAt.timeIntervalSinceNow
            }
            #expect(used[0] > -600)
            #expect(used[1] < -7_000)
        }
    }

    /// Otherwise an eviction by age would remove a manifest that is only read offline.
    @Test func readingAManifestOfflineUpdatesItsTimeOfLastUse() async throws {
        try await withTemporaryDirectory { directory in
            let origin = try Origin(replies: ["/apps.json": .ok(#"[{"icon": "a"}]"#)])
            let url = origin.url("/apps.json")
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            let source = ManifestSource.url(try HTTPURL(url))
            for try await _ in Prefetcher(configuration).prefetch([source]) {}
            try age([url], in: configuration.cache, to: Date(timeIntervalSinceNow: -7_200))
            origin.resetLog()

            configuration.policy.isOffline = true
            for try await _ in Prefetcher(configuration).prefetch([source]) {}
            #expect(origin.requests.isEmpty)
            let kept = try #require(try Cache.open(at: configuration.cache).resource(url))
            #expect(kept.object.usedAt.timeIntervalSinceNow > -600)
        }
    }

    @Test func usesAreUpdatedInSteps() async throws {
        try await withTemporaryDirectory { directory in
            let urls = (0...2 * ObjectUse.stepLimit).map { "data:text/plain,\($0)" }
            let path = directory.path("cache")
            _ = try await prefetch(manifest(urls), into: path) { $0.acceptsAnyContent = true }
            var keys: [String] = []
            try Cache.open(at: path).forEachResource { keys.append($0.key) }
            try age(keys, in: path, to: Date(timeIntervalSinceNow: -7_200))
            try expectUses(of: urls.shuffled(), in: path)
            let (report, _) = try await prefetch(manifest(urls), into: path) {
                $0.acceptsAnyContent = true
            }
            #expect(report.count(.cached) == urls.count)
            let status = try Cache.open(at: path).status()
            #expect(try #require(status.totals.oldestUse).timeIntervalSinceNow > -600)
        }
    }

    /// Expects uses in the order of the index, not of the manifest or the keys. The steps are limited,
    /// so that other writers do not wait long.
    private func expectUses(of urls: [String], in path: String) throws {
        let plan = try Plan(
            of: [.bytes(Array(manifest(urls).utf8), name: "apps.json")],
            by: Planner(cache: try Cache.open(at: path), acceptsAnyContent: true))
        var pages: [Int] = []
        var rows: [Int64] = []
        try plan.forEachUse { objects in
            pages.append(objects.count)
            rows += objects.map(\.row)
        }
        #expect(pages == [ObjectUse.stepLimit, ObjectUse.stepLimit, 1])
        #expect(rows == rows.sorted())
        try plan.releaseIndex()
    }

    /// Sets the times of receipt and last use of resources to `instant`. The resources stay fresh
    /// for a day.
    private func age(_ urls: [String], in path: String, to instant: Date) throws {
        let cache = try Cache.open(at: path)
        let store = try cache.store()
        var validators = Validators()
        validators.cacheControl = "max-age=86400"
        for url in urls {
            let resource = try #require(try cache.resource(url))
            store.add(
                Deposit(
                    key: url, url: url, validators: validators, receivedAt: instant,
                    content: .unchanged(resource.object.digest)),
                for: nil
            ) {}
        }
        store.flush()
        store.close()
        cache.close()
        // A deposit does not move the time of last use back.
        try DatabaseQueue(path: "\(path)/index.sqlite").writeWithoutTransaction {
            try $0.execute(
                sql: "UPDATE objects SET used_at = ?", arguments: [instant.timeIntervalSince1970])
        }
    }
}
