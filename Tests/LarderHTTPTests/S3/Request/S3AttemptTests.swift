import LarderHTTP
import LarderTestSupport
import Synchronization
import Testing

/// Retries of requests to a real server.
@Suite(
    .timeLimit(.minutes(30)),
    .enabled(if: RcloneServer.missing == nil, "\(RcloneServer.missing ?? "")"))
struct S3AttemptTests {
    /// Returns a bucket with the object `old`, behind a proxy.
    private func bucket() async throws -> (Bucket, MisbehavingProxy) {
        let bucket = try await Bucket.on(.rclone)
        try await bucket.withStorage { try await $0.put("old", .noise(200_000)) }
        let proxy = try MisbehavingProxy(to: bucket.endpoint)
        return (bucket.through(proxy), proxy)
    }

    /// An operation on a bucket. The raw value is the method of its request, except for `list`.
    enum Operation: String, CaseIterable, Sendable {
        case put = "PUT"
        case get = "GET"
        case head = "HEAD"
        case delete = "DELETE"
        case list

        var method: String { self == .list ? "GET" : rawValue }

        func run(_ storage: S3Bucket) async throws {
            switch self {
            case .put: try await storage.put("new", .noise(5000))
            case .get:
                let isSame = try await storage.bytes("old") == .noise(200_000)
                #expect(isSame)
            case .head:
                let head = try await storage.head("old")
                #expect(head?.size == 200_000)
            case .delete: try await storage.delete("old")
            case .list:
                let keys = try await storage.keys("")
                #expect(keys == ["old"])
            }
        }
    }

    @Test(arguments: Operation.allCases)
    func requestsAreRetriedWhileTheServerIsBusy(_ operation: Operation) async throws {
        let (bucket, proxy) = try await bucket()
        proxy.misbehave { request, _ in request.attempt <= 3 ? .slowDown : nil }
        try await bucket.withStorage { try await operation.run($0) }
        #expect(proxy.count(operation.method) == 4)
    }

    /// libcurl can send a body again by itself. All other repeated requests are attempts.
    @Test(arguments: Operation.allCases)
    func requestsAreRetriedAfterALostConnection(_ operation: Operation) async throws {
        let (bucket, proxy) = try await bucket()
        proxy.misbehave { request, _ in request.attempt == 1 ? .lost : nil }
        try await bucket.withStorage { try await operation.run($0) }
        #expect(proxy.count(operation.method) == 2)
    }

    /// The write succeeded, but its response was lost. A second write changes nothing.
    @Test(arguments: [Operation.put, .delete])
    func writesAreRetriedAfterALostResponse(_ operation: Operation) async throws {
        let (bucket, proxy) = try await bucket()
        proxy.misbehave { request, forward in
            let reply = forward(request)
            return request.attempt == 1 ? .lost : reply
        }
        try await bucket.withStorage { try await operation.run($0) }
        #expect(proxy.count(operation.method) == 2)
    }

    @Test(arguments: Operation.allCases)
    func theNumberOfAttemptsIsLimited(_ operation: Operation) async throws {
        let (bucket, proxy) = try await bucket()
        proxy.misbehave { _, _ in .slowDown }
        try await bucket.withStorage(retry: .ofRemote(attempts: 4, base: .zero)) { storage in
            let code = try await code { try await operation.run(storage) }
            #expect(code == .unavailable)
        }
        #expect(proxy.count(operation.method) == 4)
    }

    @Test(arguments: Operation.allCases, [403, 400, 301])
    func permanentErrorsAreNotRetried(_ operation: Operation, _ status: Int) async throws {
        let (bucket, proxy) = try await bucket()
        proxy.misbehave { _, _ in .s3Error(status, "Anything") }
        try await bucket.withStorage { storage in
            let code = try await code { try await operation.run(storage) }
            #expect(code == [403: .accessRefused, 400: .refused, 301: .wrongRegion][status])
        }
        #expect(proxy.count(operation.method) == 1)
    }

    @Test func aRetrySendsTheWholeBody() async throws {
        let (bucket, proxy) = try await bucket()
        let bytes = [UInt8].noise(2 << 20)
        proxy.origin.cutBodies { request in
            request.attempt <= 2 ? request.attempt * 300_000 : nil
        }
        proxy.misbehave { request, _ in request.attempt == 3 ? .slowDown : nil }
        try await bucket.withStorage { storage in
            try await storage.put("new", bytes)
            let isSame = try await storage.bytes("new") == bytes
            #expect(isSame)
        }
        #expect(proxy.count("PUT") == 4)
    }

    @Test func aRetryStartsWithANewSink() async throws {
        let (bucket, proxy) = try await bucket()
        proxy.misbehave { request, forward in
            switch request.attempt {
            case 1: forward(request).cut(after: 50_000)
            case 2: forward(request).reset(after: 100_000)
            default: nil
            }
        }
        let made = Atomic(0)
        let collected = Mutex<[[UInt8]]>([])
        try await bucket.withStorage { storage in
            try await storage.get("old", maximumBytes: 1 << 20) { _ in
                made.add(1, ordering: .relaxed)
                collected.withLock { $0.append([]) }
                return { bytes in
                    collected.withLock { $0[$0.count - 1] += Array(bytes) }
                    return true
                }
            }
        }
        #expect(made.load(ordering: .relaxed) == 3)
        let isSame = collected.withLock { $0.last == .noise(200_000) }
        #expect(isSame)
        #expect(collected.withLock { $0.first }?.count == 50_000)
    }

    /// An attempt can take any time, as long as bytes arrive.
    @Test func attemptsHaveNoTotalTimeout() async throws {
        let (bucket, proxy) = try await bucket()
        proxy.misbehave { request, forward in forward(request).delayed(0.3) }
        try await bucket.withStorage(transfer: { $0.totalTimeout = .milliseconds(50) }) {
            try await Operation.get.run($0)
        }
        #expect(proxy.count("GET") == 1)
    }

    /// The processes of the server are suspended during a body and resumed later.
    @Test func attemptsEndIfTheServerIsSuspended() async throws {
        let server = try await RcloneServer()
        let bucket = try await Bucket(of: server)
        let bytes = [UInt8].noise(64 << 20)
        try await bucket.withStorage { try await $0.put("a", bytes) }
        try await bucket.withStorage(
            retry: .ofRemote(attempts: 1), transfer: { $0.stallTimeout = .seconds(1) }
        ) { storage in
            let got = Atomic(0)
            let error = await #expect(throws: RemoteError.self) {
                try await storage.get("a", maximumBytes: 64 << 20) { _ in
                    { bytes in
                        server.suspend()
                        got.add(bytes.count, ordering: .relaxed)
                        return true
                    }
                }
            }
            #expect(error?.code == .unavailable && error?.underlying?.code == .stalled)
            let count = got.load(ordering: .relaxed)
            #expect(count > 0 && count < bytes.count)
            let code = try await code { try await storage.put("b", bytes) }
            #expect(code == .unavailable)
            server.resume()
            let isSame = try await storage.bytes("a") == bytes
            #expect(isSame)
        }
    }

    // MARK: Cancellation

    @Test func aRequestInFlightCanBeCancelled() async throws {
        let (bucket, proxy) = try await bucket()
        let gate = try Gate()
        proxy.misbehave { request, forward in forward(request).heldBy(gate) }
        try await bucket.withStorage { storage in
            let task = Task { try await storage.bytes("old") }
            try await proxy.origin.waitForRequests(1)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            let late = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await storage.head("old")
            }
            await #expect(throws: CancellationError.self) { try await late.value }
        }
        #expect(proxy.origin.count() == 1)
    }

    @Test func aDelayedRetryCanBeCancelled() async throws {
        let (bucket, proxy) = try await bucket()
        proxy.misbehave { _, _ in .slowDown }
        let retry = RetryPolicy.ofRemote(base: .seconds(3600), cap: .seconds(3600))
        try await bucket.withStorage(retry: retry) { storage in
            let task = Task { try await storage.delete("old") }
            try await proxy.origin.waitForRequests(1)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(proxy.count("DELETE") == 1)
    }

    @Test func shutdownCancelsRequestsWithoutARetry() async throws {
        let (bucket, proxy) = try await bucket()
        let gate = try Gate()
        proxy.misbehave { request, forward in forward(request).heldBy(gate) }
        let retry = RetryPolicy.ofRemote(base: .seconds(3600), cap: .seconds(3600))
        try await bucket.withStorage(retry: retry) { storage in
            let task = Task { try await storage.bytes("old") }
            try await proxy.origin.waitForRequests(1)
            storage.shutdown()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
}
