import Foundation
import LarderTestSupport
import Testing

@testable import LarderIcons

/// Who waits for an icon no longer, and what becomes of its load.
@Suite(.timeLimit(.minutes(5))) struct IconLoaderCancellationTests: LoaderSuite {
    @Test func theLastCancelledWaiterCancelsTheFetch() async throws {
        let fetcher = ScriptedFetcher()
        let loader = loader(fetcher)
        let heard = Heard()
        let tasks = (0..<3).map { _ in loader.load(url("a")) { heard.hear($0) } }
        await fetcher.wait(for: 1)
        tasks[0].cancel()
        tasks[2].cancel()
        tasks[2].cancel()
        #expect(loader.loadCount == 1 && fetcher.cancelled == 0)
        tasks[1].cancel()
        await until { fetcher.cancelled == 1 }
        #expect(loader.loadCount == 0)
        // And the next one asks anew, in the place of the cancelled one.
        let last = Heard()
        loader.load(url("a")) { last.hear($0) }
        await fetcher.wait(for: 2)
        fetcher.finish("a", .success(icon()))
        await until { last.count == 1 }
        #expect(heard.count == 0)
    }

    @Test func prefetchedRowsAreFetchedOnceAndGivenUpUnlessSomebodyWaits() async throws {
        let fetcher = ScriptedFetcher()
        let loader = loader(fetcher)
        loader.prefetch([url("a"), url("b"), url("a")])
        loader.prefetch([url("a")])
        await fetcher.wait(for: 2)
        let heard = Heard()
        loader.load(url("a")) { heard.hear($0) }
        loader.stopPrefetching([url("a"), url("b"), url("c")])
        await until { fetcher.cancelled == 1 }
        fetcher.finish("a", .success(icon()))
        await until { heard.count == 1 }
        #expect(fetcher.count == 2)
        loader.prefetch([url("a")])
        #expect(loader.loadCount == 0)
    }

    /// As `URLSession` does if its app invalidates it.
    @Test func whatAFetcherGivesUpIsAskedForAgain() async throws {
        let fetcher = ScriptedFetcher { _ in throw CancellationError() }
        let loader = loader(fetcher)
        for _ in 0..<2 {
            await #expect(throws: IconFailure.self) { try await loader.icon(for: url("a")) }
        }
        #expect(fetcher.count == 2)
    }

    @Test func aCancelledTaskEndsItsLoad() async throws {
        let fetcher = ScriptedFetcher()
        let loader = loader(fetcher)
        let task = Task { try await loader.icon(for: url("a")) }
        await fetcher.wait(for: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await until { fetcher.cancelled == 1 }
        #expect(loader.loadCount == 0)
    }

    /// The tasks and streams of it that are still held did keep its loads going.
    @Test func aLoaderThatIsLetGoOfEndsWhatIsHeldOfIt() async throws {
        let fetcher = ScriptedFetcher()
        let heard = Heard()
        var held: IconTask?
        var stream: AsyncStream<IconState>?
        do {
            let loader = loader(fetcher)
            held = loader.load(url("a")) { heard.hear($0) }
            stream = loader.states(for: url("b"))
            await fetcher.wait(for: 2)
        }
        await until { fetcher.cancelled == 2 && heard.count == 1 }
        guard case .failed(let failure, _)? = heard.last else { return #expect(Bool(false)) }
        #expect(failure.code == .cancelled)
        var last: IconState?
        for await state in try #require(stream) { last = state }
        guard case .failed? = last else { return #expect(Bool(false)) }
        held?.cancel()
        #expect(heard.count == 1)
    }

    /// It was cancelled, and came all the same.
    @Test func whatComesAfterACancellationIsKept() async throws {
        let fetcher = ScriptedFetcher()
        let loader = loader(fetcher)
        let task = loader.load(url("a")) { _ in }
        await fetcher.wait(for: 1)
        // Before the task's cancellation is heard of.
        fetcher.finish("a", .success(icon()))
        task.cancel()
        await until { loader.cache.memory.contains(url("a").absoluteString) }
    }

    /// Answers when it is let, whatever is cancelled.
    private final class StubbornFetcher: IconFetcher {
        let mayAnswer = Changing(false)
        let count = Changing(0)
        let icon: FetchedIcon

        init(_ icon: FetchedIcon) { self.icon = icon }

        func fetch(_ request: IconRequest) async throws -> FetchedIcon {
            count.value += 1
            while !mayAnswer.value { await Task.yield() }
            return icon
        }
    }

    @Test func whatALoadThatWasGivenUpHasGotIsNotFetchedAgain() async throws {
        let fetcher = StubbornFetcher(icon())
        var options = IconLoader.Options()
        options.concurrentFetches = 1
        let loader = IconLoader(
            cache: IconCache(memory: MemoryCache(pressure: nil)), fetcher: fetcher,
            options: options)
        let task = loader.load(url("a")) { _ in }
        await until { fetcher.count.value == 1 }
        task.cancel()
        // Its successor was looked for on the disk, and waits for the only place.
        let heard = Heard()
        loader.load(url("a")) { heard.hear($0) }
        await until {
            if case .placeholder(.network) = loader.state(for: url("a")) { true } else { false }
        }
        fetcher.mayAnswer.value = true
        await until { heard.count == 1 }
        #expect(heard.last?.entry?.data == Data(bytes) && fetcher.count.value == 1)
    }
}
