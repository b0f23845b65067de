import Foundation
import LarderTestSupport
import Synchronization
import Testing

/// Prefetches of stale icons on a slow disk while all icons are evicted. An icon that is evicted
/// before its 304 response is committed must be fetched again.
///
/// `LARDER_EVICTED_RUNS` sets the number of prefetches (default: 40).
@Suite struct EvictedMeanwhileTests {
    /// More than one batch, so that a batch is committed while other responses arrive.
    private static let icons = 700

    @Test(
        .enabled(if: FaultShim.isPossible, "preloading a library needs Linux"),
        .timeLimit(.minutes(180)))
    func iconsEvictedDuringRevalidationAreFetchedAgain() async throws {
        try await withFixture { larder in
            // The last icon's 304 is sent after the eviction, so at least this icon is evicted in
            // time.
            let gate = Mutex(try Gate())
            larder.origin.onAny { request in
                guard request.header("If-None-Match") == nil else {
                    let isLast = request.path == "/\(Self.icons - 1)"
                    return isLast ? .notModified.heldBy(gate.withLock { $0 }) : .notModified
                }
                return Icons.reply(Int(request.path.dropFirst()) ?? 0)
                    .header("ETag", "\"1\"").header("Cache-Control", "max-age=0")
            }
            let manifest = try larder.manifest(
                urls: (0..<Self.icons).map { larder.origin.url("/\($0)") })
            #expect(try larder.prefetch(manifest).status == 0)
            let shim = try FaultShim(in: larder.directory)
            for round in 0..<(testSetting("LARDER_EVICTED_RUNS") ?? share(of: 40)) {
                let own = try Gate()
                gate.withLock { $0 = own }
                let fetched = try await run(larder, manifest, shim, own, round)
                #expect(fetched > 0)
            }
        }
    }

    /// Runs a prefetch with an eviction.
    /// - Returns: The number of icons that were evicted before their 304 response was committed.
    private func run(
        _ larder: CLIFixture, _ manifest: String, _ shim: FaultShim, _ gate: Gate, _ round: Int
    ) async throws -> Int {
        larder.origin.resetLog()
        let report = larder.directory.path("report.jsonl")
        let process = try larder.binary.start(
            larder.prefetchArguments([manifest], report: report),
            environment: shim.slowingSyncs(by: 250, below: larder.cache))
        // Before most of the answers are committed, at a moment of each round's own.
        try await larder.origin.waitForRequests(1 + round % 8 * 50)
        let eviction = try larder.run("evict", "--max-count", "0", "--quiet")
        gate.open()
        // Status 2: icons that the prefetch has already stored are protected.
        #expect([0, 2].contains(eviction.status), "\(eviction)")
        let run = try PrefetchRun(process.wait(), report: report)
        #expect(run.summary.unfinished == 0, "round \(round): \(run.finished)")
        #expect(run.status == 0, "round \(round): \(run.finished)")
        return run.summary.fetched
    }
}
