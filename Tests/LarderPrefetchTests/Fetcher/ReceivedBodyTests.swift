import LarderHTTP
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCore
@testable import LarderPrefetch

@Suite(.timeLimit(.minutes(5))) struct ReceivedBodyTests {
    private final class Begun: Sendable {
        let count = Mutex(0)
    }

    @Test func theOnlyConnectionGoesToTheHighestPriorityAtThatTime() async throws {
        let origin = try Origin()
        let gate = try Gate()
        let reply = Reply.ok(IconPainter.png(seed: 1))
        origin.onAny { $0.target == "/first" ? reply.heldBy(gate) : reply }
        var configuration = TransferConfiguration()
        configuration.addressPolicy = .allowAll
        configuration.maximumConnections = 1
        let loop = try TransferLoop(configuration: configuration)
        defer { loop.shutdown() }
        let policy = FetchPolicy(
            headers: RequestHeaders(), maximumBodyBytes: 1 << 20, storesUnstorable: false)
        func body(_ path: String) throws -> ReceivedBody {
            ReceivedBody(RequestTarget(try HTTPURL(origin.url(path))), policy)
        }
        let bodies = try ["/first", "/raised", "/high", "/lowered"].map(body)
        // Raised before it waits.
        bodies[2].change(to: 4)

        try await withThrowingTaskGroup(of: Void.self) { group in
            let begun = Begun()
            for body in bodies {
                group.addTask {
                    _ = try await withCheckedThrowingContinuation { waiter in
                        guard body.wait(waiter) else { return }
                        let request = policy.request(to: body.target, about: nil)
                        body.began(loop.start(request, receiver: body), on: loop)
                        begun.count.withLock { $0 += 1 }
                    }
                }
                // The first one has the connection before there are others.
                try await origin.waitForRequests(1)
            }
            while begun.count.withLock({ $0 }) < bodies.count { await Task.yield() }
            bodies[3].change(to: 8)
            bodies[1].change(to: 8)
            bodies[3].change(to: -4)
            gate.open()
            try await group.waitForAll()
        }
        #expect(origin.requests.map(\.target) == ["/first", "/raised", "/high", "/lowered"])
    }
}
