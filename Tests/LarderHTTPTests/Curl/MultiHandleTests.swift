import Foundation
import LarderTestSupport
import LarderTestTLS
import Testing

@testable import LarderHTTP

@Suite(.timeLimit(.minutes(30))) struct MultiHandleTests {
    let origin: Origin

    init() throws {
        origin = try Origin()
        origin.onAny { _ in .ok("body") }
    }

    @Test func theNextTransferReusesTheConnection() async throws {
        try await withClient { client in
            for number in 0..<5 {
                let metrics = try await client.fetch(origin.url("/\(number)")).metrics()
                #expect(metrics.reusedConnection == (number > 0))
            }
            #expect(origin.connectionsOpened == 1)
        }
    }

    @Test func aClosedConnectionIsReplaced() async throws {
        // The connection is closed after the body, without `Connection: close`.
        origin.on("/dies", Reply.ok("body").cut(after: 4))
        try await withClient { client in
            for _ in 0..<5 {
                let recorder = try await client.fetch(origin.url("/dies"))
                #expect(await recorder.error() == nil)
            }
            #expect(origin.connectionsOpened == 5)
        }
    }

    @Test func theNumberOfConnectionsIsLimited() async throws {
        let gate = try Gate()
        origin.onAny { $0.path.hasPrefix("/held") ? Reply.ok("x").heldBy(gate) : nil }
        try await withClient {
            $0.maximumConnections = 5
            $0.maximumIdleConnections = 0
            $0.maximumConnectionsPerHost = 3
        } _: { client in
            for number in 0..<20 {
                try client.start(origin.url("/held/\(number)"))
                try client.start(origin.url("/held/\(number)", host: "localhost"))
            }
            try await origin.waitForRequests(5)
            gate.open()
            for recorder in client.recorders { _ = try await recorder.metrics() }
            #expect(origin.mostConcurrentRequests == 5)
            #expect(origin.mostConcurrentRequests(host: "127.0.0.1") <= 3)
            #expect(origin.mostConcurrentRequests(host: "localhost") <= 3)
            #expect(origin.mostConcurrentConnections <= 5)
        }
    }

    @Test func theNumberOfIdleConnectionsIsLimited() async throws {
        try await withClient {
            $0.maximumConnections = 2
            $0.maximumIdleConnections = 3
        } _: { client in
            for number in 0..<20 {
                _ = try await client.fetch(origin.url("/", host: "h\(number).localhost")).metrics()
            }
            #expect(origin.connectionsOpened == 20)
            // Five, and briefly a sixth connection that libcurl is about to close.
            #expect((5...6).contains(origin.mostConcurrentConnections))
            // The last connection is still open. Others can have equal ages, because libcurl counts
            // milliseconds.
            let last = try await client.fetch(origin.url("/", host: "h19.localhost")).metrics()
            #expect(last.reusedConnection)
            // The first connection was closed to make room.
            let first = try await client.fetch(origin.url("/", host: "h0.localhost")).metrics()
            #expect(!first.reusedConnection)
        }
    }

    @Test func theConnectionToAHostIsClosedAfterItsLastRequest() async throws {
        try await withClient { client in
            for _ in 0..<3 {
                let recorder = try await client.fetch(origin.url("/"), isLastOfHost: true)
                let metrics = try await recorder.metrics()
                #expect(!metrics.reusedConnection)
            }
            #expect(origin.connectionsOpened == 3)
        }
    }

    @Test func http2TransfersShareOneConnection() async throws {
        let gate = try Gate()
        origin.onAny { _ in Reply.ok("body").heldBy(gate) }
        let front = try TLSFront(originPort: origin.port)
        defer { front.stop() }
        try await withClient {
            $0.certificateAuthorities = TestCertificates.authorityPath
        } _: { client in
            for number in 0..<6 { try client.start(front.url("/\(number)")) }
            try await origin.waitForRequests(6)
            gate.open()
            for recorder in client.recorders {
                _ = try await recorder.metrics()
                #expect(recorder.text == "body")
                #expect(recorder.heads.first?.protocolVersion == "2")
            }
            #expect(front.protocols == ["h2"])
            #expect(front.mostConcurrentStreamsPerConnection == 6)
        }
    }

    @Test func http1IsUsedIfHTTP2IsNotOffered() async throws {
        let front = try TLSFront(originPort: origin.port, offer: [.http1])
        defer { front.stop() }
        try await withClient {
            $0.certificateAuthorities = TestCertificates.authorityPath
        } _: { client in
            for number in 0..<20 { try client.start(front.url("/\(number)")) }
            for recorder in client.recorders {
                _ = try await recorder.metrics()
                #expect(recorder.heads.first?.protocolVersion == "1.1")
            }
            #expect(front.mostConcurrentConnections <= 6)
        }
    }

    @Test func transfersUseANewConnectionAfterGoAway() async throws {
        let front = try TLSFront(originPort: origin.port)
        defer { front.stop() }
        front.goAwayAfter(4)
        try await withClient {
            $0.certificateAuthorities = TestCertificates.authorityPath
        } _: { client in
            for number in 0..<12 {
                let recorder = try await client.fetch(front.url("/\(number)"))
                #expect(await recorder.error() == nil)
            }
            #expect(front.protocols.count >= 3)
        }
    }

    private static let openssl = "/usr/bin/openssl"

    /// The server's response describes the TLS session. The server closes each connection.
    @Test(
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: openssl),
            "openssl is not installed"))
    func aNewConnectionResumesTheTLSSession() async throws {
        let server = try RunningProcess(
            Self.openssl,
            [
                "s_server", "-accept", "127.0.0.1:0", "-www", "-cert",
                TestCertificates.certificatePath(.trusted), "-key",
                TestCertificates.keyPath(.trusted),
            ])
        defer { server.kill(SIGKILL) }
        var port: Substring?
        while port == nil {
            port = server.standardOutputSoFar.firstMatch(of: /ACCEPT 127\.0\.0\.1:(\d+)\n/)?.1
            // The time limit of the suite applies if the server does not start.
            try Task.checkCancellation()
            await Task.yield()
        }
        let url = "https://127.0.0.1:\(try #require(port))/"
        try await withClient {
            $0.certificateAuthorities = TestCertificates.authorityPath
        } _: { client in
            let first = try await client.fetch(url)
            _ = try await first.metrics()
            #expect(first.text.contains("\nNew, TLS"))
            // Takes the handle that had the session.
            origin.on("/stalls", Reply.ok("body").stalling(after: 1))
            let (stalling, id) = try client.start(origin.url("/stalls"))
            await stalling.reached(.bytes)
            let second = try await client.fetch(url)
            _ = try await second.metrics()
            #expect(second.text.contains("\nReused, TLS"))
            client.loop.cancel(id)
        }
    }

    #if os(Linux)
        /// Reading the authorities takes longer than the rest of a handshake. Each request opens a
        /// connection, because no handshake succeeds.
        @Test(.enabled(if: CurlLibrary.certificateBundle != nil, "requires ca-certificates"))
        func theSystemsCertificateAuthoritiesAreReadOnce() async throws {
            let bundle = try #require(CurlLibrary.certificateBundle)
            let front = try TLSFront(originPort: origin.port)
            defer { front.stop() }
            let watch = inotify_init1(Int32(IN_NONBLOCK))
            defer { close(watch) }
            #expect(inotify_add_watch(watch, bundle, UInt32(IN_OPEN)) >= 0)
            var opens = 0
            try await withClient { client in
                for number in 0..<30 {
                    let recorder = try await client.fetch(front.url("/\(number)"))
                    #expect(await recorder.error()?.code == .certificate)
                    // Reads after each request, because the kernel merges equal events.
                    var events = [UInt8](repeating: 0, count: 4096)
                    if read(watch, &events, events.count) > 0 { opens += 1 }
                }
            }
            // This loop reads the file once. The loops of other tests can read it, too.
            #expect((1..<15).contains(opens))
        }
    #endif

    @Test func idleConnectionsUseAtMostAQuarterOfTheOpenFiles() {
        #expect(MultiHandle.idleConnections(atMost: 64, openFiles: 1024) == 64)
        #expect(MultiHandle.idleConnections(atMost: 64, openFiles: 100) == 25)
        #expect(MultiHandle.idleConnections(atMost: -1, openFiles: 100) == 0)
    }
}
