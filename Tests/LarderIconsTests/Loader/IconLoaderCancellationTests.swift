import Foundation
import LarderTestSupport
import Testing

@testable import LarderIcons

/// Cancelled loads and fetches of icons.
@Suite(.timeLimit(.minutes(30))) struct IconLoaderCancellationTests: LoaderSuite {
    @Test func theLastCancelledWaiterCancelsTheFetch() async throws {
        let fetcher = ScriptedFetcher()
        let loader = loader(fetcher)
        let received = ReceivedStates()
        let tasks = (0..<3).map { _ in loader.load(url("a")) { received.append($0) } }
        await fetcher.wait(for: 1)
        tasks[0].cancel()
        tasks[2].cancel()
        tasks[2].cancel()
        #expect(loader.loadCount == 1 && fetcher.cancelled == 0)
        tasks[1].cancel()
        await until { fetcher.cancelled == 1 }
        #expect(loader.loadCount == 0)
        // The next waiter starts a new fetch.
        let last = ReceivedStates()
        loader.load(url("a")) { last.append($0) }
        await fetcher.wait(for: 2)
        fetcher.finish("a", .success(icon()))
        await until { last.count == 1 }
        #expect(received.count == 0)
    }

    @Test func stopPrefetchingCancelsOnlyFetchesWithoutWaiters() async throws {
        let fetcher = ScriptedFetcher()
        let loader = loader(fetcher)
        loader.prefetch([url("a"), url("b"), url("a")])
        loader.prefetch([url("a")])
        await fetcher.wait(for: 2)
        let received = ReceivedStates()
        loader.load(url("a")) { received.append($0) }
        loader.stopPrefetching([url("a"), url("b"), url("c")])
        await until { fetcher.cancelled == 1 }
        fetcher.finish("a", .success(icon()))
        await until { received.count == 1 }
        #expect(fetcher.count == 2)
        loader.prefetch([url("a")])
        #expect(loader.loadCount == 0)
    }

    /// `URLSession` cancels its tasks if the app invalidates it.
    @Test func aFetchThatTheFetcherCancelsIsTriedAgain() async throws {
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

    /// Retained tasks and streams once kept the loads of a released loader running.
    @Test func aReleasedLoaderEndsItsTasksAndStreams() async throws {
        let fetcher = ScriptedFetcher()
        let received = ReceivedStates()
        var held: IconTask?
        var stream: AsyncStream<IconState>?
        do {
            let loader = loader(fetcher)
            held = loader.load(url("a")) { received.append($0) }
            stream = loader.states(for: url("b"))
            await fetcher.wait(for: 2)
        }
        await until { fetcher.cancelled == 2 && received.count == 1 }
        guard case .failed(let failure, _)? = received.last else { return #expect(Bool(false)) }
        #expect(failure.code == .cancelled)
        var last: IconState?
        for await state in try #require(stream) { last = state }
        guard case .failed? = last else { return #expect(Bool(false)) }
        held?.cancel()
        #expect(received.count == 1)
    }

    @Test func anIconThatArrivesDespiteCancellationIsKept() async throws {
        let fetcher = ScriptedFetcher()
        let loader = loader(fetcher)
        let task = loader.load(url("a")) { _ in }
        await fetcher.wait(for: 1)
        // The fetch succeeds before its cancellation.
        fetcher.finish("a", .success(icon()))
        task.cancel()
        await until { loader.cache.memory.contains(url("a").absoluteString) }
    }

    /// A fetcher that ignores cancellation and responds when the test allows it.
    private final class StubbornFetcher: IconFetcher {
        let mayRespond = Changing(false)
        let count = Changing(0)
        let icon: FetchedIcon

        init(_ icon: FetchedIcon) { self.icon = icon }

        func fetch(_ request: IconRequest) async throws -> FetchedIcon {
            count.value += 1
            while !mayRespond.value { await Task.yield() }
            return icon
        }
    }

    @Test func aNewLoadUsesTheResultOfACancelledFetch() async throws {
        let fetcher = StubbornFetcher(icon())
        var options = IconLoader.Options()
        options.concurrentFetches = 1
        let loader = IconLoader(
            cache: IconCache(memory: MemoryCache(pressure: nil)), fetcher: fetcher,
            options: options)
        let task = loader.load(url("a")) { _ in }
        await until { fetcher.count.value == 1 }
        task.cancel()
        // The new load has found nothing on disk and waits for the only slot.
        let received = ReceivedStates()
        loader.load(url("a")) { received.append($0) }
        await until {
            if case .placeholder(.network) = loader.state(for: url("a")) { true } else { false }
        }
        fetcher.mayRespond.value = true
        await until { received.count == 1 }
        #expect(received.last?.entry?.data == Data(bytes) && fetcher.count.value == 1)
    }
}
