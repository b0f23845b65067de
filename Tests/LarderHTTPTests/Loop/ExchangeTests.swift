import LarderCore
import LarderTestSupport
import Testing

@testable import LarderHTTP

@Suite(.timeLimit(.minutes(5))) struct ExchangeTests {
    @Test func theOnlyConnectionGoesToTheHighestPriorityAtThatTime() async throws {
        let origin = try Origin()
        let gate = try Gate()
        let reply = Reply.ok(IconPainter.png(seed: 1))
        origin.onAny { $0.target == "/first" ? reply.heldBy(gate) : reply }
        var configuration = TransferConfiguration.allowingAll
        configuration.maximumConnections = 1
        let loop = try TransferLoop(configuration: configuration)
        defer { loop.shutdown() }
        let paths = ["/first", "/raised", "/high", "/lowered"]
        let exchanges = paths.map { _ in Exchange(on: loop) { _, _ in CollectedBytes().sink() } }
        // Raised before it waits.
        exchanges[2].setPriority(4)

        try await withThrowingTaskGroup(of: Void.self) { group in
            for (exchange, path) in zip(exchanges, paths) {
                let request = TransferRequest(url: try HTTPURL(origin.url(path)))
                group.addTask { _ = try await exchange.response(to: request) }
                // The first one has the connection before there are others.
                try await origin.waitForRequests(1)
            }
            while exchanges.contains(where: { $0.id == nil }) { await Task.yield() }
            exchanges[3].setPriority(8)
            exchanges[1].setPriority(8)
            exchanges[3].setPriority(-4)
            gate.open()
            try await group.waitForAll()
        }
        #expect(origin.requests.map(\.target) == ["/first", "/raised", "/high", "/lowered"])
    }
}
