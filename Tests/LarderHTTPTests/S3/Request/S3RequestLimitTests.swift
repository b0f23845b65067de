import LarderHTTP
import LarderTestSupport
import LarderTestTLS
import Testing

@Suite(.timeLimit(.minutes(30))) struct S3RequestLimitTests {
    /// The two connections could carry all requests at once.
    @Test func requestsOverHTTP2AreLimitedToo() async throws {
        let origin = try Origin()
        origin.onAny { _ in .ok("x").delayed(0.2) }
        let front = try TLSFront(originPort: origin.port)
        defer { front.stop() }
        var bucket = Bucket(at: origin)
        bucket.endpoint = front.baseURL
        try await bucket.withStorage(
            connections: 2, retry: .ofRemote(attempts: 1),
            transfer: { $0.certificateAuthorities = TestCertificates.authorityPath }
        ) { storage in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<10 { group.addTask { _ = try await storage.bytes("a") } }
                try await group.waitForAll()
            }
        }
        #expect(Set(front.protocols) == ["h2"])
        #expect(front.requestCount == 10)
        #expect(front.mostConcurrentStreams <= 2)
    }

    @Test func aCancelledRequestLeavesItsSlotToOthers() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.onAny { _ in .ok("x") }
        origin.on("/bucket/held", Reply.ok("x").heldBy(gate))
        try await Bucket(at: origin).withStorage(connections: 1) { storage in
            let held = Task { try await storage.bytes("held") }
            try await origin.waitForRequests(1)
            let waiting = Task { try await storage.bytes("waiting") }
            async let bytes = storage.bytes("a")
            waiting.cancel()
            held.cancel()
            #expect(try await bytes == Array("x".utf8))
            for task in [held, waiting] {
                await #expect(throws: CancellationError.self) { try await task.value }
            }
        }
    }
}
