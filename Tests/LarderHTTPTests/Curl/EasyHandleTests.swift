import LarderTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The settings of requests, which must not leak into the next request.
@Suite(.timeLimit(.minutes(30))) struct EasyHandleTests {
    let origin: Origin

    init() throws {
        origin = try Origin(replies: ["/a": .ok("body of a")])
    }

    @Test func aTransferDeliversItsHeadBodyAndMetrics() async throws {
        try await withClient { client in
            let recorder = try await client.fetch(origin.url("/a"))
            let metrics = try await recorder.metrics()
            #expect(recorder.text == "body of a")
            #expect(recorder.heads.map(\.status) == [200])
            #expect(recorder.heads.first?.protocolVersion == "1.1")
            #expect(recorder.heads.first?.headers[first: "content-length"] == "9")
            #expect(metrics.receivedBytes == 9)
            #expect(!metrics.reusedConnection)
            #expect(metrics.total > .zero)
        }
    }

    @Test func requestsHaveTheCommonHeaderFields() async throws {
        try await withClient {
            $0.userAgent = "larder/test"
        } _: { client in
            _ = try await client.fetch(origin.url("/a"), headers: [("X-One", "1"), ("X-None", "")])
            let request = try #require(origin.requests.first)
            #expect(request.method == "GET")
            #expect(request.header("User-Agent") == "larder/test")
            #expect(request.header("Accept-Encoding")?.contains("gzip") == true)
            #expect(request.header("X-One") == "1")
            #expect(request.header("X-None") == "")
            #expect(request.header("Expect") == nil)
            #expect(request.header("Cookie") == nil)
        }
    }

    @Test func credentialsAndFieldsOfARequestAreNotSentWithTheNext() async throws {
        try await withClient { client in
            let withUser = origin.url("/a").replacing("http://", with: "http://me:secret@")
            _ = try await client.fetch(withUser, headers: [("X-One", "1")])
            _ = try await client.fetch(origin.url("/a"))
            let requests = origin.requests
            #expect(requests.first?.header("Authorization") == "Basic bWU6c2VjcmV0")
            #expect(requests.last?.header("Authorization") == nil)
            #expect(requests.first?.header("X-One") == "1")
            #expect(requests.last?.header("X-One") == nil)
        }
    }

    @Test func theEngineDoesNotFollowRedirects() async throws {
        origin.on("/from", .redirect(to: "/a"))
        try await withClient { client in
            let recorder = try await client.fetch(origin.url("/from"))
            #expect(recorder.heads.map(\.status) == [302])
            #expect(recorder.heads.first?.headers[first: "Location"] == "/a")
            #expect(origin.count() == 1)
        }
    }

    @Test func theEngineDoesNotStoreCookies() async throws {
        origin.on("/cookie", .ok("").header("Set-Cookie", "a=b; Path=/"))
        try await withClient { client in
            _ = try await client.fetch(origin.url("/cookie"))
            _ = try await client.fetch(origin.url("/a"))
            #expect(origin.requests.last?.header("Cookie") == nil)
        }
    }

    @Test func aGzipBodyIsDecoded() async throws {
        // "hello, larder" in gzip.
        let encoded: [UInt8] = [
            31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 215, 81, 200, 73, 44, 74, 73,
            45, 2, 0, 157, 161, 211, 107, 13, 0, 0, 0,
        ]
        origin.on("/gzip", .ok(encoded).header("Content-Encoding", "gzip"))
        try await withClient { client in
            let recorder = try await client.fetch(origin.url("/gzip"))
            #expect(recorder.text == "hello, larder")
            #expect(try await recorder.metrics().receivedBytes == Int64(encoded.count))
        }
    }

    @Test func childProcessesDoNotInheritSockets() async throws {
        let gate = try Gate()
        origin.on("/held", Reply.ok("").heldBy(gate))
        try await withClient { client in
            let recorder = try client.start(origin.url("/held")).recorder
            try await origin.waitForRequests(1)
            // Other tests run at the same time, so descriptor numbers can be high.
            let descriptors = 0..<min(getdtablesize(), 65_536)
            let sockets = descriptors.filter { Self.peerPort(of: $0) == origin.port }
            #expect(!sockets.isEmpty)
            for socket in sockets { #expect(fcntl(socket, F_GETFD) & FD_CLOEXEC != 0) }
            gate.open()
            await recorder.reached(.end)
        }
    }

    /// Returns the port that an IPv4 socket is connected to.
    private static func peerPort(of descriptor: Int32) -> UInt16? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getpeername(descriptor, $0, &length)
            }
        }
        guard code == 0, Int32(address.sin_family) == AF_INET else { return nil }
        return UInt16(bigEndian: address.sin_port)
    }
}
