import Foundation
import LarderTestSupport
import Testing

@testable import LarderIcons

/// Leaks of a loader and its parts after each way in which a load can end.
@Suite(.timeLimit(.minutes(30))) struct IconLoaderLeakTests {
    enum End: CaseIterable {
        case completed, failed, cancelled, dropped, streamed
    }

    /// Weak references to a loader and its parts.
    private final class WeakReferences {
        weak var loader: IconLoader?
        weak var cache: IconCache?
        weak var memory: MemoryCache?
        weak var fetcher: ScriptedFetcher?
        weak var queue: OperationQueue?
        weak var captured: Captured?

        var areNil: Bool {
            loader == nil && cache == nil && memory == nil && fetcher == nil && queue == nil
                && captured == nil
        }
    }

    /// An object that a view's closure captures.
    private final class Captured: Sendable {}

    private let url = URL(string: "https://a.example/icon")!

    private func run(_ end: End, in directory: URL) async throws -> WeakReferences {
        let references = WeakReferences()
        let memory = MemoryCache(pressure: MemoryPressure())
        let cache = IconCache(directory: directory, memory: memory)
        let fetcher = ScriptedFetcher()
        let loader = IconLoader(cache: cache, fetcher: fetcher)
        let captured = Captured()
        (references.loader, references.cache, references.memory) = (loader, cache, memory)
        (references.fetcher, references.queue, references.captured) = (
            fetcher, cache.queue, captured
        )
        let ended = Count()
        if end == .streamed {
            let task = Task { for await _ in loader.states(for: url) { _ = captured } }
            await fetcher.wait(for: 1)
            task.cancel()
            await task.value
            return references
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
        case .dropped, .streamed: return references
        }
        await until { end == .cancelled || ended.value == 1 }
        return references
    }

    @Test(arguments: End.allCases) func nothingIsRetainedAfterALoad(_ end: End) async throws {
        try await withTemporaryDirectory { directory in
            let references = try await run(end, in: URL(fileURLWithPath: directory.path("cache")))
            // An uncommitted batch retains the cache for up to a second.
            while !references.areNil { await Task.yield() }
        }
    }
}
