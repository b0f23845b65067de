import LarderTestSupport
import LarderTestTLS
import Testing

@Suite struct TLSFrontTests {
    @Test(arguments: TestCertificates.Kind.allCases)
    func clientsAcceptOnlyTheTrustedCertificate(_ kind: TestCertificates.Kind) async throws {
        let origin = try Origin()
        let front = try TLSFront(originPort: origin.port, certificate: kind)
        let client = try? TLSClient(front)
        #expect((client != nil) == (kind == .trusted))
        client?.close()
    }

    @Test(arguments: ["h2", "http/1.1"])
    func tlsFrontRelaysRequestsOnOneConnection(_ name: String) async throws {
        let origin = try Origin(replies: ["/a?b": .ok("one"), "/c": Reply.ok("two").chunked()])
        let front = try TLSFront(originPort: origin.port)
        let client = try TLSClient(front, offer: [name])
        #expect(try await client.get("/a?b") == (200, "one"))
        if name == "h2" { #expect(try await client.get("/c") == (200, "two")) }
        #expect(front.protocols == [name])
        #expect(front.requestCount == origin.count())
        #expect(origin.requests.first?.header("Host") == "127.0.0.1")
        client.close()
    }

    @Test func tlsFrontOffersTheGivenProtocols() async throws {
        let origin = try Origin()
        for (offer, agreed) in [
            ([TLSFront.ApplicationProtocol.http1], "http/1.1"), ([], "http/1.1"), ([.http2], "h2"),
        ] {
            let front = try TLSFront(originPort: origin.port, offer: offer)
            let client = try TLSClient(front)
            #expect(try await client.get("/").status == 404)
            #expect(front.protocols == [agreed])
            client.close()
        }
    }

    @Test(arguments: ["h2", "http/1.1"])
    func tlsFrontRelaysTruncatedResponsesAsTruncated(_ name: String) async throws {
        let origin = try Origin(replies: ["/": Reply.ok("abcdef").cut(after: 3)])
        let front = try TLSFront(originPort: origin.port)
        let client = try TLSClient(front, offer: [name])
        await #expect(throws: (any Error).self) { try await client.get("/") }
        client.close()
    }

    @Test func tlsFrontCountsConcurrentStreamsAndConnections() async throws {
        let gate = try Gate()
        let origin = try Origin(replies: ["/": Reply.ok("x").heldBy(gate)])
        let front = try TLSFront(originPort: origin.port)
        let one = try TLSClient(front)
        let other = try TLSClient(front)
        async let first = one.get("/")
        async let second = one.get("/")
        async let third = other.get("/")
        try await origin.waitForRequests(3)
        gate.open()
        for answer in try await [first, second, third] { #expect(answer.body == "x") }
        #expect(front.mostConcurrentStreams == 3)
        #expect(front.mostConcurrentStreamsPerConnection == 2)
        #expect(front.mostConcurrentConnections == 2)
        _ = try await one.get("/")
        #expect(front.mostConcurrentStreams == 3)
        one.close()
        other.close()
    }

    @Test func resettingAStreamKeepsItsConnectionOpen() async throws {
        let origin = try Origin(replies: ["/a": .ok("a"), "/b": .ok("b")])
        let front = try TLSFront(originPort: origin.port)
        front.resetStream(path: "/b")
        let client = try TLSClient(front)
        await #expect(throws: (any Error).self) { try await client.get("/b") }
        #expect(try await client.get("/a").body == "a")
        #expect(origin.count("/b") == 0)
        client.close()
    }

    @Test func goAwayRejectsLaterRequests() async throws {
        let origin = try Origin(replies: ["/": .ok("x")])
        let front = try TLSFront(originPort: origin.port)
        front.goAwayAfter(2)
        let client = try TLSClient(front)
        #expect(try await client.get("/").body == "x")
        #expect(try await client.get("/").body == "x")
        await #expect(throws: (any Error).self) { try await client.get("/") }
        #expect(origin.count() == 2)
        client.close()
    }

    @Test func goAwayRejectsConcurrentRequestsBeyondItsLimit() async throws {
        let origin = try Origin(replies: ["/": .ok("x")])
        let front = try TLSFront(originPort: origin.port)
        front.goAwayAfter(2)
        let client = try TLSClient(front)
        let answered = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<5 { group.addTask { (try? await client.get("/"))?.body == "x" } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(answered == 2)
        #expect(origin.count() == 2)
        client.close()
    }

    @Test func stoppingATLSFrontClosesItsConnections() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.on("/", Reply.ok("").heldBy(gate))
        let front = try TLSFront(originPort: origin.port)
        let client = try TLSClient(front)
        let answer = Task { try await client.get("/") }
        try await origin.waitForRequests(1)
        front.stop()
        await #expect(throws: (any Error).self) { try await answer.value }
    }
}
