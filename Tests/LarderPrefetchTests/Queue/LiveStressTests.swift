import Foundation
import LarderPrefetch
import LarderTestSupport
import Synchronization
import Testing

/// Priorities and cancellations at random, from several threads at once.
@Suite(.timeLimit(.minutes(30))) struct LiveStressTests {
    private static let urls = 2_000

    private func path(_ number: Int) -> String { "/\(number)" }

    private func url(_ number: Int, at origin: Origin) -> String {
        origin.url(path(number), host: "h\(number % 7).localhost")
    }

    /// What the origin does to it, so that some is tried again, held back or led elsewhere.
    private func reply(to request: Request) -> Reply {
        let number = Int(request.path.dropFirst()) ?? 0
        switch number % 40 {
        case 1 where request.attempt == 1: return .status(503)
        case 2 where request.attempt == 1: return .status(429).header("Retry-After", "0")
        case 3: return .redirect(to: "/to\(number)")
        case 4: return .status(404)
        case 5 where request.attempt == 1:
            return .ok(IconPainter.png(seed: number, size: 8)).cut(after: 20)
        default: return .ok(IconPainter.png(seed: number, size: 8))
        }
    }

    @Test(arguments: [1, 6])
    func everyIconIsReportedOnceAndNoneIsAskedForAfterwards(concurrent: Int) async throws {
        let origin = try Origin()
        origin.onAny { reply(to: $0) }
        try await withTemporaryDirectory { directory in
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            configuration.maximumConcurrent = concurrent
            configuration.retry.base = .milliseconds(5)
            configuration.retry.overloadBase = .milliseconds(5)
            let prefetcher = Prefetcher(configuration)
            let isOver = Atomic(false)
            let cancelled = Mutex(Set<Int>())
            let threads = (0..<4).map { seed in
                Thread {
                    var random = Pseudorandom(seed: seed)
                    while !isOver.load(ordering: .relaxed) {
                        let number = random.next(below: Self.urls)
                        let url = url(number, at: origin)
                        switch random.next(below: 10) {
                        case 0:
                            guard cancelled.withLock({ $0.count < Self.urls / 2 }) else { break }
                            cancelled.withLock { _ = $0.insert(number) }
                            prefetcher.cancel(url)
                        case 1...8: prefetcher.setPriority(random.next(below: 20) - 10, of: url)
                        default: prefetcher.setPriority(.max, of: url + "x")
                        }
                        // Or the run would do nothing else.
                        usleep(300)
                    }
                }
            }
            for thread in threads { thread.start() }
            let text = manifest((0..<Self.urls).map { url($0, at: origin) })
            let (report, results) = try await collect(prefetcher, text)
            isOver.store(true, ordering: .relaxed)

            #expect(results.count == Self.urls)
            #expect(Set(results.map(\.position)).count == Self.urls)
            #expect(report.icons == Self.urls)
            #expect(report.count(.unfinished) == 0)
            let wanted = cancelled.withLock { $0 }
            var notAsked = 0
            for result in results {
                let number = result.position - 1
                guard result.problem?.code == "cancelled" else {
                    #expect((result.outcome == .failed) == (number % 40 == 4), "\(result)")
                    continue
                }
                #expect(wanted.contains(number))
                #expect(origin.count(path(number)) <= result.attempts, "\(number)")
                if result.attempts == 0 { notAsked += 1 }
            }
            #expect(notAsked > 0)
            #expect(report.count(.fetched) > 0)
        }
    }
}
