import Foundation
import LarderPrefetch
import LarderTestSupport
import Testing

/// Priorities that callers change while a run goes on.
@Suite(.timeLimit(.minutes(30))) struct LivePriorityTests {
    /// A run over `urls` of one origin, one request at a time: it has asked for the first when
    /// `change` is called, and gets its answer afterwards.
    ///
    /// - Returns: the paths in the order in which they were asked for.
    private func order(
        of paths: [String], configure: (inout PrefetchConfiguration) -> Void = { _ in },
        _ change: @escaping @Sendable (Prefetcher, Origin) -> Void
    ) async throws -> [String] {
        let live = try LiveRun(of: paths, configure: configure)
        async let finished = live.finished()
        try await live.origin.waitForRequests(1)
        change(live.prefetcher, live.origin)
        // And what was handed over before has come back.
        for _ in 0..<3 { await live.changesAreTaken() }
        live.gate.open()
        let results = try await finished.results
        #expect(paths.allSatisfy { results[$0]?.map(\.outcome) == [.fetched] })
        return live.order
    }

    private let paths = (0..<300).map { "/\($0)" }

    /// The first few may have come back to the schedule, and were handed over again.
    private func expectOthersInOrder(
        _ order: [String], but number: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(order.count == paths.count, sourceLocation: sourceLocation)
        #expect(Set(order) == Set(paths), sourceLocation: sourceLocation)
        let few = Set(paths.prefix(8) + ["/\(number)"])
        #expect(
            order.filter { !few.contains($0) } == paths.filter { !few.contains($0) },
            sourceLocation: sourceLocation)
    }

    /// In the plan, in a page that was read, and in what was handed over.
    @Test(arguments: [299, 40, 2])
    func whatIsRaisedIsNext(number: Int) async throws {
        let order = try await order(of: paths) { $0.setPriority(1, of: $1.url("/\(number)")) }
        #expect(order[1] == "/\(number)")
        expectOthersInOrder(order, but: number)
    }

    @Test func whatIsRaisedGoesByPriority() async throws {
        let order = try await order(of: paths) { prefetcher, origin in
            for (number, priority) in [(250, 5), (100, 7), (3, 8), (200, 9), (299, 4)] {
                prefetcher.setPriority(priority, of: origin.url("/\(number)"))
            }
        }
        #expect(order.prefix(6) == ["/0", "/200", "/3", "/100", "/250", "/299"])
        #expect(Set(order).count == 300)
    }

    @Test(arguments: [299, 40, 2])
    func whatIsLoweredIsLast(number: Int) async throws {
        let order = try await order(of: paths) { $0.setPriority(-1, of: $1.url("/\(number)")) }
        #expect(order == paths.filter { $0 != "/\(number)" } + ["/\(number)"])
    }

    @Test(arguments: [299, 40, 2])
    func theLastCallCounts(number: Int) async throws {
        let order = try await order(of: paths) { prefetcher, origin in
            for priority in [8, -8, 8, -8, 5] {
                prefetcher.setPriority(priority, of: origin.url("/\(number)"))
            }
        }
        #expect(order[1] == "/\(number)")
        expectOthersInOrder(order, but: number)
    }

    /// It counts for its next attempt.
    @Test func whatIsUnderWayKeepsItsNewPriority() async throws {
        let live = try LiveRun(
            of: paths, configure: { ($0.retry.base, $0.retry.overloadBase) = (.zero, .zero) })
        let gate = live.gate
        live.origin.on("/0") { request in
            request.attempt == 1
                ? .status(503).heldBy(gate) : .ok(IconPainter.png(seed: 0, size: 8))
        }
        async let finished = live.finished()
        try await live.origin.waitForRequests(1)
        live.prefetcher.setPriority(-1, of: live.origin.url("/0"))
        await live.changesAreTaken()
        gate.open()
        let (_, results) = try await finished
        #expect(live.order == paths + ["/0"])
        #expect(results["/0"]?.map(\.attempts) == [2])
    }

    /// One call is taken before the next comes.
    @Test(arguments: [299, 40, 2])
    func aChangeIsChangedBack(number: Int) async throws {
        let live = try LiveRun(of: paths)
        async let finished = live.finished()
        try await live.origin.waitForRequests(1)
        for priority in [8, -8, 4, 9, 0] {
            live.prefetcher.setPriority(priority, of: live.origin.url("/\(number)"))
            await live.changesAreTaken()
        }
        live.gate.open()
        _ = try await finished
        // What was handed over once may be before what was not.
        #expect(live.order.firstIndex(of: "/\(number)").map { $0 <= max(number, 8) } ?? false)
        expectOthersInOrder(live.order, but: number)
    }
}
