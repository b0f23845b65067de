import Foundation
import LarderTestSupport
import Testing

@testable import rehearse

/// Each strategy, scrolling to the last row and back. Only results that do not depend on time are
/// compared.
@Suite(.timeLimit(.minutes(30))) struct StrategyTests {
    /// The memory limit for 60 rows of 10 kB, six of them visible.
    private static let limit = 200_000

    private func rehearse(_ strategy: StrategyName) async throws -> (StrategyReport, Origin) {
        let icons = try PaddedIcons(rows: 60, bytes: 10_000)
        let report = try await icons.rehearse(strategy) { options in
            options.memoryLimit = Self.limit
            // Fewer than the images that fit into memory.
            options.maximumConcurrent = 4
        }
        return (report, icons.origin)
    }

    @Test(arguments: StrategyName.allCases)
    func everyRowShowsItsImage(_ strategy: StrategyName) async throws {
        let (report, origin) = try await rehearse(strategy)
        let (rows, link) = (report.rows, report.link)
        #expect(rows.shown == 60 + 54)
        #expect(rows.wrong == 0)
        #expect(rows.failed == 0)
        #expect(rows.unseen == 0)
        #expect(rows.memoryHits + rows.diskHits + rows.networkImages == rows.shown)
        // The counts agree with the origin.
        #expect(link.requests == origin.count())
        #expect(link.downloads == link.requests)
        #expect(link.repeatedDownloads == link.downloads - 60)
        #expect(link.bytes == Int64(link.downloads) * 10_000)
        #expect(link.wastedBytes == 0)
        #expect(!report.isInterrupted)
        #expect(report.storeFailure == nil)
        #expect(report.waits != nil)
        #expect(report.frames.count > 0)
        #expect(report.peakHeld == report.curve.map(\.held).max())
        #expect(report.peakResident > 1 << 20)
    }

    @Test(arguments: [StrategyName.synchronous, .asynchronous])
    func everyRowIsDownloadedWithoutACache(_ strategy: StrategyName) async throws {
        let (report, _) = try await rehearse(strategy)
        #expect(report.link.downloads == report.rows.shown)
        #expect(report.rows.networkImages == report.rows.shown)
        #expect(report.warnings.isEmpty)
        // The images of six cells.
        #expect(report.peakHeld == 60_000)
    }

    /// As in the literature, memory grows until a warning, falls, and grows again. Images are
    /// downloaded again.
    @Test(arguments: [StrategyName.memory, .coalescing])
    func aPurgedMemoryCacheGrowsAndFalls(_ strategy: StrategyName) async throws {
        let (report, _) = try await rehearse(strategy)
        #expect(report.warnings.count >= 3)
        #expect(report.warningCount == report.warnings.count)
        for warning in report.warnings {
            #expect(warning.before >= Self.limit)
            // The remaining images are in cells.
            #expect(warning.after <= 60_000)
        }
        #expect(report.link.repeatedDownloads > 20)
        // On a busy machine, a point has the maximum of several frames.
        for warning in report.warnings {
            let start = report.curve.last { $0.time < warning.time }?.time ?? 0
            #expect(
                report.curve.contains {
                    $0.time >= start && $0.time <= warning.time && $0.held >= Self.limit
                })
        }
        let first = try #require(report.warnings.first)
        #expect(report.curve.contains { $0.time > first.time && $0.held < Self.limit / 2 })
        #expect(report.peakHeld >= Self.limit)
    }

    /// Strategies cannot be compared if one of them also counts its own data structures.
    @Test(arguments: [StrategyName.memory, .coalescing, .sandbox])
    func onlyTheBytesOfImagesAreCounted(_ strategy: StrategyName) async throws {
        let icons = try PaddedIcons(rows: 20, bytes: 1000)
        let report = try await icons.rehearse(strategy)
        #expect(report.peakHeld == 20 * 1000)
    }

    /// With the cache on disk, memory reaches a plateau and no image is downloaded twice.
    @Test func theSandboxReachesAMemoryPlateau() async throws {
        let (report, origin) = try await rehearse(.sandbox)
        #expect(report.warnings.isEmpty)
        #expect(report.peakHeld < Self.limit)
        #expect(report.link.repeatedDownloads == 0)
        #expect((0..<60).allSatisfy { origin.count("/\($0)") == 1 })
        #expect(report.rows.diskHits + report.rows.memoryHits >= 54)
        // From half of the way to the last row on, memory is within an image's size of the cache's
        // limit.
        let plateau = report.curve.filter { $0.time > report.scrollSeconds / 4 }.map(\.held)
        let limit = Self.limit / 4 * 3
        let outside = plateau.filter { !(limit - 15_000...limit).contains($0) }
        #expect(outside == [])
    }

    @Test func downloadsInProgressAreShared() async throws {
        // The rows of the first screen have only two URLs.
        let icons = try PaddedIcons(rows: 20, urls: 2, bytes: 1000)
        let alone = try await icons.rehearse(.memory)
        #expect(alone.link.repeatedDownloads >= 4)
        #expect(alone.rows.wrong == 0)
        icons.origin.resetLog()
        let shared = try await icons.rehearse(.coalescing)
        #expect(shared.link.downloads == 2)
        #expect(icons.origin.count() == 2)
        #expect(shared.rows.networkImages == 6)
        #expect(shared.rows.memoryHits == shared.rows.shown - 6)
        icons.origin.resetLog()
        let sandbox = try await icons.rehearse(.sandbox)
        #expect(sandbox.link.downloads == 2)
        #expect(sandbox.rows.wrong == 0)
    }

    @Test func theSandboxUsesAndFillsItsDirectory() async throws {
        try await withTemporaryDirectory { directory in
            let icons = try PaddedIcons(rows: 20, bytes: 1000)
            let cache = URL(fileURLWithPath: directory.path("cache"))
            let first = try await icons.rehearse(.sandbox, directory: cache)
            #expect(first.link.downloads == 20)
            let second = try await icons.rehearse(.sandbox, directory: cache)
            #expect(second.link.requests == 0)
            #expect(second.rows.diskHits > 0)
            #expect(second.rows.networkImages == 0)
            #expect(second.rows.wrong == 0)
            #expect(icons.origin.count() == 20)
        }
    }

    @Test func anUnusableDirectoryIsReported() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.path("file")
            try Data("no cache".utf8).write(to: URL(fileURLWithPath: file))
            let icons = try PaddedIcons(rows: 5, bytes: 1000)
            let report = try await icons.rehearse(
                .sandbox, directory: URL(fileURLWithPath: file))
            #expect(report.storeFailure != nil)
            #expect(report.rows.networkImages + report.rows.memoryHits == report.rows.shown)
        }
    }

    @Test(arguments: StrategyName.allCases)
    func missingImagesAreCountedAsFailures(_ strategy: StrategyName) async throws {
        let icons = try PaddedIcons(rows: 8, bytes: 1000)
        icons.origin.on("/3", .status(404))
        let report = try await icons.rehearse(strategy, visible: 4)
        #expect(report.rows.failed >= 1)
        #expect(report.rows.wrong == 0)
        #expect(report.link.firstFailure?.code == "http-404")
        #expect(report.link.firstFailure?.message.contains("/3: ") == true)
        // A loader remembers the failure. The other strategies send a request for each appearance.
        let expected = strategy == .sandbox ? 1 : report.rows.failed
        #expect(icons.origin.count("/3") == expected)
    }

    @Test(arguments: StrategyName.allCases)
    func cancellingARehearsalEndsIt(_ strategy: StrategyName) async throws {
        let icons = try PaddedIcons(rows: 50, bytes: 1000)
        let gate = try Gate()
        for row in 0..<50 { icons.origin.on("/\(row)", Reply.ok("").heldBy(gate)) }
        let rehearsal = Rehearsal(
            icons.rows, ScrollPattern.slow.trace(rows: 50, visible: 5), RehearsalOptions(strategy),
            fetcher: try icons.fetcher())
        async let running = rehearsal.run()
        try await icons.origin.waitForRequests(1)
        rehearsal.cancel()
        let report = await running
        gate.open()
        #expect(report.isInterrupted)
        #expect(report.rows.unseen == report.rows.shown)
        #expect(report.link.requests == report.link.cancelled)
        #expect(report.link.requests >= 1)
    }

    @Test(arguments: StrategyName.allCases)
    func theFetcherIsReleasedAfterARehearsal(_ strategy: StrategyName) async throws {
        let icons = try PaddedIcons(rows: 10, bytes: 1000)
        weak var fetcher: WatchedFetcher?
        do {
            let watched = WatchedFetcher(try icons.fetcher())
            fetcher = watched
            var options = RehearsalOptions(strategy)
            options.pace = .images
            _ = await Rehearsal(
                icons.rows, ScrollPattern.slow.trace(rows: 10, visible: 5), options,
                fetcher: watched
            ).run()
        }
        while fetcher != nil { await Task.yield() }
    }
}
