import Foundation
import LarderTestSupport
import Testing

@testable import LarderIcons

/// Sixteen threads that use one loader. An oracle checks that each load ends once, with the right
/// icon.
@Suite struct IconLoaderStressTests {
    private static let threads = 16
    private static let urls = (0..<200).map { URL(string: "https://a.example/\($0)")! }

    /// Returns an icon whose bytes are its URL.
    private static func icon(_ url: URL) -> FetchedIcon {
        FetchedIcon(data: Data(url.absoluteString.utf8), mediaType: "image/png")
    }

    /// One icon in ten fails.
    private static func fails(_ url: URL) -> Bool { url.lastPathComponent.hasSuffix("7") }

    /// The results of all loads.
    private final class Oracle: @unchecked Sendable {
        // Unchecked because of its variables; every access holds `lock`.
        private let lock = NSLock()
        private var ends: [Int: Int] = [:]
        private var mistakes: [String] = []
        private var begun = 0

        var wrong: [String] { lock.withLock { mistakes } }

        func begin() -> Int {
            lock.withLock {
                begun += 1
                return begun
            }
        }

        func end(_ load: Int, _ url: URL, _ state: IconState) {
            lock.withLock {
                ends[load, default: 0] += 1
                if ends[load] != 1 { mistakes.append("load \(load) ended again") }
                switch state {
                case .image(let entry, _):
                    if entry.data != Data(url.absoluteString.utf8) || fails(url) {
                        mistakes.append("\(url): wrong icon")
                    }
                case .failed(let failure, _):
                    if !fails(url) || failure.url != url.absoluteString {
                        mistakes.append("\(url): \(failure)")
                    }
                case .placeholder: mistakes.append("\(url): ended as a placeholder")
                }
            }
        }

        func isOver(_ load: Int) -> Bool { lock.withLock { ends[load] != nil } }
    }

    private static func work(_ loader: IconLoader, _ oracle: Oracle, seed: Int) -> [Int] {
        var random = Pseudorandom(seed: seed)
        var tasks: [(load: Int, task: IconTask)] = []
        var awaited: [Int] = []
        for _ in 0..<2_000 {
            let url = urls[random.next(below: urls.count)]
            let priority = IconPriority.allCases[random.next(below: 5)]
            switch random.next(below: 100) {
            case 0..<50:
                let load = oracle.begin()
                let task = loader.load(url, priority: priority) { oracle.end(load, url, $0) }
                tasks.append((load, task))
            case 50..<60 where !tasks.isEmpty:
                tasks[random.next(below: tasks.count)].task.setPriority(priority)
            case 60..<75 where !tasks.isEmpty:
                tasks.remove(at: random.next(below: tasks.count)).task.cancel()
            case 75..<80 where !tasks.isEmpty:
                // Releasing the task does not cancel the load.
                awaited.append(tasks.remove(at: random.next(below: tasks.count)).load)
            case 80..<88: loader.prefetch((0..<5).map { urls[($0 * 7 + seed) % urls.count] })
            case 88..<94: loader.stopPrefetching((0..<5).map { urls[($0 * 7 + seed) % urls.count] })
            case 94..<96: loader.cache.memory.removeAll()
            case 96..<97: loader.forgetFailures()
            default:
                if case .image(let entry, _) = loader.state(for: url),
                    entry.data != Data(url.absoluteString.utf8)
                {
                    oracle.end(-1, url, .placeholder(nil))
                }
            }
        }
        return awaited + tasks.map(\.load)
    }

    @Test(.timeLimit(.minutes(30)), arguments: [false, true])
    func sixteenThreadsGetTheRightIcons(_ hasDisk: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let memory = MemoryCache(costLimit: 50 * MemoryCache.entryOverhead, pressure: nil)
            let cache =
                hasDisk
                ? IconCache(directory: URL(fileURLWithPath: directory.path("c")), memory: memory)
                : IconCache(memory: memory)
            let fetcher = ScriptedFetcher { url in
                guard !Self.fails(url) else { throw IconFailure(.fetch, url: url, "none") }
                return Self.icon(url)
            }
            var options = IconLoader.Options()
            options.concurrentFetches = 5
            let loader = IconLoader(cache: cache, fetcher: fetcher, options: options)
            let oracle = Oracle()
            let awaited = await withTaskGroup(of: [Int].self) { group in
                for seed in 0..<Self.threads {
                    group.addTask {
                        await withCheckedContinuation { continuation in
                            Thread.detachNewThread {
                                continuation.resume(
                                    returning: Self.work(loader, oracle, seed: seed))
                            }
                        }
                    }
                }
                return await group.reduce(into: [Int]()) { $0 += $1 }
            }
            loader.stopPrefetching(Self.urls)
            await until { awaited.allSatisfy(oracle.isOver) && loader.loadCount == 0 }
            #expect(oracle.wrong.isEmpty)
            #expect(awaited.count > 1_000)
            #expect((1...5).contains(fetcher.maximumConcurrent))
            await cache.flush()
            #expect(cache.storeFailure == nil)
        }
    }
}
