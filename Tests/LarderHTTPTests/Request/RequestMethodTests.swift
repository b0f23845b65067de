import LarderCore
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderHTTP

@Suite(.timeLimit(.minutes(30))) struct RequestMethodTests {
    let origin: Origin

    init() throws {
        origin = try Origin()
        origin.onAny { request in
            .ok("\(request.method) \(request.body.count)")
        }
    }

    private func request(
        _ method: TransferRequest.Method, _ path: String = "/a", isSigned: Bool = false
    ) throws -> TransferRequest {
        var request = TransferRequest(url: try HTTPURL(origin.url(path)))
        request.method = method
        guard isSigned else { return request }
        request.headers = [("x-amz-content-sha256", "UNSIGNED-PAYLOAD")]
        request.signing = (
            region: "r", credentials: Credentials(user: "me", password: "secret")
        )
        return request
    }

    private func send(_ client: Client, _ request: TransferRequest) async throws -> Recorder {
        let recorder = Recorder()
        _ = client.loop.start(request, receiver: recorder)
        await recorder.reached(.end)
        return recorder
    }

    @Test func requestsHaveTheirOwnMethodAndBody() async throws {
        try await withClient { client in
            let bodies: [(TransferRequest.Method, String)] = [
                (.get, "GET 0"), (.put(RequestBody([])), "PUT 0"),
                (.put(RequestBody([1, 2, 3])), "PUT 3"), (.delete, "DELETE 0"), (.get, "GET 0"),
            ]
            for (method, text) in bodies {
                let recorder = try await send(client, request(method))
                #expect(recorder.text == text)
            }
            let head = try await send(client, request(.head))
            _ = try await head.metrics()
            #expect(head.body.isEmpty)
            #expect(head.heads.first?.headers[first: "Content-Length"] == "6")
        }
        #expect(origin.connectionsOpened == 1)
        #expect(
            origin.requests.map { $0.header("Content-Length") }
                == [nil, "0", "3", nil, nil, nil])
    }

    /// All requests use the same handle.
    @Test func aSignedRequestDoesNotAffectTheNext() async throws {
        let others: [TransferRequest.Method] = [
            .put(RequestBody([1, 2, 3])), .head, .delete, .get,
        ]
        for other in others {
            origin.resetLog()
            try await withClient({ $0.maximumConnections = 1 }) { client in
                _ = try await send(client, request(other, isSigned: true)).metrics()
                let plain = try await send(client, request(.get))
                #expect(plain.text == "GET 0")
            }
            let (first, last) = try (
                #require(origin.requests.first), #require(origin.requests.last)
            )
            #expect(first.connection == last.connection)
            #expect(first.header("Authorization")?.hasPrefix("AWS4-HMAC-SHA256") == true)
            #expect(first.header("Accept-Encoding") == nil)
            #expect(last.method == "GET")
            for name in [
                "Authorization", "Content-Length", "Transfer-Encoding", "Expect", "x-amz-date",
                "x-amz-content-sha256",
            ] {
                #expect(last.header(name) == nil, "\(name)")
            }
            #expect(last.header("Accept-Encoding") != nil)
        }
    }

    /// The same handle has sent a signed request before.
    @Test func basicAuthenticationWorksAfterASignedRequest() async throws {
        try await withClient({ $0.maximumConnections = 1 }) { client in
            _ = try await send(client, request(.get, isSigned: true)).metrics()
            let url = origin.url("/b").replacing("http://", with: "http://me:secret@")
            _ = try await client.fetch(url).metrics()
        }
        #expect(origin.requests.last?.header("Authorization") == "Basic bWU6c2VjcmV0")
    }

    /// The server closes a reused connection during the request. libcurl opens another connection
    /// and sends the body from the start.
    @Test func aBodyIsSentAgainOnANewConnection() async throws {
        let size = 700_000
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let bodies = Mutex<[[UInt8]]>([])
        origin.on("/b") { request in
            bodies.withLock { $0.append(request.body) }
            return request.attempt == 1 ? .lost : .ok("done")
        }
        try await withClient { client in
            _ = try await send(client, request(.get)).metrics()
            let offsets = Mutex<[Int64]>([])
            let body = RequestBody(count: Int64(size)) { offset, buffer in
                offsets.withLock { $0.append(offset) }
                let rest = bytes[Int(offset)...].prefix(min(buffer.count, 10_000))
                buffer.copyBytes(from: rest)
                return rest.count
            }
            var request = try request(.put(body), "/b")
            // Otherwise libcurl waits for `100 Continue`. After this part of a response, it does
            // not repeat the request.
            request.headers = [("Expect", "")]
            let recorder = try await send(client, request)
            _ = try await recorder.metrics()
            #expect(recorder.text == "done")
            #expect(offsets.withLock { $0.count { $0 == 0 } } == 2)
        }
        #expect(origin.count("/b") == 2)
        let areWhole = bodies.withLock { $0 == [bytes, bytes] }
        #expect(areWhole)
    }

    @Test(arguments: [nil, 0])
    func anUnreadableBodyFailsTheTransfer(_ result: Int?) async throws {
        try await withClient { client in
            let body = RequestBody(count: 100_000) { offset, buffer in
                guard offset < 50_000 else { return result }
                let count = min(buffer.count, 50_000 - Int(offset))
                buffer.baseAddress?.initializeMemory(as: UInt8.self, repeating: 7, count: count)
                return count
            }
            let recorder = try await send(client, request(.put(body)))
            let error = await recorder.error()
            #expect(error?.code == .other)
            #expect(error?.message == "the request's body could not be read")
            let next = try await send(client, request(.put(RequestBody([1]))))
            #expect(next.text == "PUT 1")
        }
    }

    /// From 1 MiB, libcurl waits for `100 Continue`, which some servers never send.
    @Test func aServerThatClosesBeforeTheBodyFailsTheTransfer() async throws {
        let server = try Origin()
        server.cutBodies { _ in 0 }
        try await withClient { client in
            var request = try request(.put(RequestBody([UInt8](repeating: 1, count: 3 << 20))))
            request.url = try HTTPURL(server.url("/a"))
            let error = await (try await send(client, request)).error()
            #expect(error?.code == .connectionLost)
        }
    }
}
