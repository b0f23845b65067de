import Foundation
import LarderTestSupport
import Testing

@testable import LarderIcons

/// Whatever becomes of a load, nothing keeps anything afterwards.
@Suite(.timeLimit(.minutes(5))) struct IconLoaderLeakTests {
    enum End: CaseIterable {
        case completed, failed, cancelled, dropped, streamed
    }

    /// What is held on to by nobody but the test, weakly.
    private final class Held {
        weak var loader: IconLoader?
        weak var cache: IconCache?
        weak var memory: MemoryCache?
        weak var fetcher: ScriptedFetcher?
        weak var queue: OperationQueue?
        weak var captured: Captured?

        var isGone: Bool {
            loader == nil && cache == nil && memory == nil && fetcher == nil && queue == nil
                && captured == nil
        }
    }

    /// What a view's closure holds.
    private final class Captured: Sendable {}

    private let url = URL(string: "https://a.example/icon")!

    private func run(_ end: End, in directory: URL) async throws -> Held {
        let held = Held()
        let memory = MemoryCache(pressure: MemoryPressure())
        let cache = IconCache(directory: directory, memory: memory)
        let fetcher = ScriptedFetcher()
        let loader = IconLoader(cache: cache, fetcher: fetcher)
        let captured = Captured()
        (held.loader, held.cache, held.memory) = (loader, cache, memory)
        (held.fetcher, held.queue, held.captured) = (fetcher, cache.queue, captured)
        let ended = Count()
        if end == .streamed {
            let task = Task { for await _ in loader.states(for: url) { _ = captured } }
            await fetcher.wait(for: 1)
            task.cancel()
            await task.value
            return held
        }
        let task = loader.load(url) { _ in
            _ = captured
            ended.add()
        }
        loader.prefetch([url])
        await fetcher.wait(for: 1)
        switch end {
        case .completed: fetcher.finish("icon", .success(FetchedIcon(data: Data([1]))))
        case .failed: fetcher.finish("icon", .failure(CancellationError()))
        case .cancelled:
            task.cancel()
            loader.stopPrefetching([url])
        case .dropped, .streamed: return held
        }
        await until { end == .cancelled || ended.value == 1 }
        return held
    }

    @Test(arguments: End.allCases) func nothingIsLeft(_ end: End) async throws {
        try await withTemporaryDirectory { directory in
            let held = try await run(end, in: URL(fileURLWithPath: directory.path("cache")))
            // A batch that is still to be committed keeps the cache for a second.
            while !held.isGone { await Task.yield() }
        }
    }
}
