import Foundation
import LarderPrefetch
import LarderTestSupport
import Testing

/// A run that is stopped while it uploads icons from the cache.
@Suite(.timeLimit(.minutes(30))) struct InterruptedPushTests {
    /// More icons than the push reads in one page.
    private let icons = 600
    private let storage = CountedStorage()
    private let origin: Origin
    private let urls: [String]

    init() throws {
        let origin = try Origin()
        urls = (0..<icons).map { number in
            origin.on(
                "/\(number)",
                .ok(IconPainter.png(seed: number, size: 4))
                    .header("Cache-Control", "max-age=3600"))
            return origin.url("/\(number)")
        }
        self.origin = origin
    }

    /// Prefetches, and stops the run at the first request for which `isLast` is true.
    private func run(
        _ cache: String, until isLast: @escaping @Sendable (_ method: String) -> Bool
    ) async throws -> Report {
        var configuration = PrefetchConfiguration(cache: cache)
        configuration.transfer.addressPolicy = .allowAll
        configuration.remote = try Remote(in: storage)
        // Long enough for a slow machine.
        configuration.grace = .seconds(120)
        let prefetcher = Prefetcher(configuration)
        // Weak, because the prefetcher retains the storage.
        storage.before { [weak prefetcher] method, _ in
            guard isLast(method) else { return }
            prefetcher?.cancel()
            try Task.checkCancellation()
        }
        let manifest = try JSONEncoder().encode(urls.map { ["icon": $0] })
        var report: Report?
        for try await case .finished(let finished) in prefetcher.prefetch([
            .bytes(Array(manifest), name: "manifest")
        ]) { report = finished }
        return try #require(report)
    }

    @Test func remainingUploadsAreCountedAsUnpushed() async throws {
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            // The remote already has some of the icons.
            _ = try await prefetch(Array(urls.prefix(100)), into: cache, storage, .mirror)
            _ = try await prefetch(urls, into: cache, storage, .read)
            let report = try await run(cache) { $0 == "PUT" }
            let remote = try #require(report.remote)
            #expect(report.isInterrupted && remote.pushed < icons - 100 && !remote.isComplete)
            #expect(remote.pushed + remote.unpushed == icons - 100)
            let next = try #require(try await run(cache) { _ in false }.remote)
            #expect(next.pushed == remote.unpushed && next.unpushed == 0)
        }
    }

    /// The run stops before it has listed the remote.
    @Test func iconsThatTheRemoteMayHaveAreNotCountedAsUnpushed() async throws {
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            _ = try await prefetch(urls, into: cache, storage, .mirror)
            let report = try await run(cache) { $0 == "LIST" }
            #expect(report.isInterrupted && report.remote?.unpushed == 0)
        }
    }
}
