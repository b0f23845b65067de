import LarderTestSupport
import LarderTestTLS
import Testing

/// Hosts that are connected to while every place of a request is taken.
@Suite(.timeLimit(.minutes(10))) struct ConnectionsAheadTests {
    let origin: Origin
    let gate: Gate

    init() throws {
        origin = try Origin()
        let gate = try Gate()
        self.gate = gate
        origin.onAny { request in
            let reply = Reply.ok(request.path)
            return request.path == "/held" ? reply.heldBy(gate) : reply
        }
    }

    /// One place, and a request that has it until the gate is opened.
    private func withBusyClient(
        _ held: String, ahead: Int, _ body: (Client) async throws -> Void
    ) async throws {
        try await withClient {
            $0.maximumConnections = 1
            $0.maximumConnectionsAhead = ahead
            $0.certificateAuthorities = TestCertificates.authorityPath
            // Should no connection ever open the gate.
            $0.totalTimeout = .seconds(120)
        } _: { client in
            try client.start(held)
            try await origin.waitForRequests(1)
            try await body(client)
        }
    }

    /// Also where it is to be closed with its last request, and that one waits.
    @Test(arguments: [false, true])
    func theirRequestsWaitForAPlaceAndUseThatConnection(isLastOfHost: Bool) async throws {
        try await withBusyClient(origin.url("/held"), ahead: 16) { client in
            origin.onConnection { [gate] in if $0 == 6 { gate.open() } }
            for number in 1...5 {
                try client.start(
                    origin.url("/\(number)", host: "h\(number).localhost"),
                    isLastOfHost: isLastOfHost)
            }
            for recorder in client.recorders { _ = try await recorder.metrics() }
            #expect(client.recorders.dropFirst().map(\.text) == (1...5).map { "/\($0)" })
            #expect(origin.mostConcurrentRequests == 1)
            #expect(origin.connectionsOpened == 6)
        }
    }

    @Test(arguments: [false, true])
    func soItIsOverTLS(isLastOfHost: Bool) async throws {
        let front = try TLSFront(originPort: origin.port)
        defer { front.stop() }
        try await withBusyClient(front.url("/held"), ahead: 16) { client in
            front.onConnection { [gate] in if $0 == 2 { gate.open() } }
            for number in 1...3 {
                try client.start(
                    front.url("/\(number)", host: "localhost"),
                    isLastOfHost: isLastOfHost && number == 3)
            }
            for recorder in client.recorders { _ = try await recorder.metrics() }
            #expect(client.recorders.dropFirst().map(\.text) == (1...3).map { "/\($0)" })
            #expect(origin.mostConcurrentRequests == 1)
            #expect(front.protocols == ["h2", "h2"])
        }
    }

    @Test func noMoreAreMadeThanAllowed() async throws {
        try await withBusyClient(origin.url("/held"), ahead: 2) { client in
            origin.onConnection { [gate] in if $0 == 3 { gate.open() } }
            for number in 1...9 {
                try client.start(origin.url("/\(number)", host: "h\(number).localhost"))
            }
            for recorder in client.recorders { _ = try await recorder.metrics() }
            #expect(origin.connectionsOpened == 10)
        }
    }

    @Test func aHostThatCannotBeReachedTakesNoPlace() async throws {
        let nobody = try BlackHole()
        try await withClient {
            $0.maximumConnections = 1
            // Longer than anything takes on a busy machine.
            $0.connectTimeout = .seconds(120)
        } _: { client in
            try client.start(nobody.url("/1"))
            try client.start(nobody.url("/2"))
            let metrics = try await client.fetch(origin.url("/1")).metrics()
            #expect(metrics.receivedBytes == 2)
            // What waits for nobody still does.
            #expect(client.recorders.map(\.ends.count) == [0, 0, 1])
        }
    }

    @Test func asManyAsMayBeConnectedToAtOnceTakeNoPlaceEither() async throws {
        let nobodies = try (0..<4).map { _ in try BlackHole() }
        try await withClient {
            $0.maximumConnections = 1
            $0.maximumConnectionsAhead = 2
            $0.connectTimeout = .seconds(120)
        } _: { client in
            _ = try await client.fetch(origin.url("/1")).metrics()
            for nobody in nobodies { try client.start(nobody.url("/")) }
            let metrics = try await client.fetch(origin.url("/2")).metrics()
            #expect(metrics.reusedConnection)
            #expect(client.recorders.map(\.ends.count) == [1, 0, 0, 0, 0, 1])
        }
    }

    @Test(arguments: [true, false])
    func aHostThatNobodyHasConnectedToTakesNoPlace(isCancelled: Bool) async throws {
        let nobody = try BlackHole()
        try await withClient {
            $0.maximumConnections = 1
            // If it is not cancelled, its time is up before that to connect.
            $0.connectTimeout = .seconds(120)
            $0.totalTimeout = .seconds(isCancelled ? 120 : 10)
        } _: { client in
            let first = try client.start(nobody.url("/1"))
            // Meanwhile it has begun.
            _ = try await client.fetch(origin.url("/1")).metrics()
            if isCancelled { client.loop.cancel(first.id) }
            await first.recorder.reached(.end)
            try client.start(nobody.url("/2"))
            _ = try await client.fetch(origin.url("/2")).metrics()
            // It still waits for nobody.
            #expect(client.recorders.map(\.ends.count) == [1, 1, 0, 1])
        }
    }
}
