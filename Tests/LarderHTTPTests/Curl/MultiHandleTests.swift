import Foundation
import LarderTestSupport
import LarderTestTLS
import Testing

@testable import LarderHTTP

/// How connections are shared.
@Suite(.timeLimit(.minutes(10))) struct MultiHandleTests {
    let origin: Origin

    init() throws {
        origin = try Origin()
        origin.onAny { _ in .ok("body") }
    }

    @Test func keepsAConnectionForTheNextTransfer() async throws {
        try await withClient { client in
            for number in 0..<5 {
                let metrics = try await client.fetch(origin.url("/\(number)")).metrics()
                #expect(metrics.reusedConnection == (number > 0))
            }
            #expect(origin.connectionsOpened == 1)
        }
    }

    @Test func replacesAConnectionThatHasDied() async throws {
        // Closed after the whole body, without a word.
        origin.on("/dies", Reply.ok("body").cut(after: 4))
        try await withClient { client in
            for _ in 0..<5 {
                let recorder = try await client.fetch(origin.url("/dies"))
                #expect(await recorder.error() == nil)
            }
            #expect(origin.connectionsOpened == 5)
        }
    }

    @Test func opensNoMoreConnectionsThanAllowed() async throws {
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

    @Test func keepsNoMoreIdleConnectionsThanAllowed() async throws {
        try await withClient {
            $0.maximumConnections = 2
            $0.maximumIdleConnections = 3
        } _: { client in
            for number in 0..<20 {
                _ = try await client.fetch(origin.url("/", host: "h\(number).localhost")).metrics()
            }
            #expect(origin.connectionsOpened == 20)
            #expect(origin.mostConcurrentConnections == 5)
            // The last one is still there; libcurl tells the ages of the others by the millisecond.
            let last = try await client.fetch(origin.url("/", host: "h19.localhost")).metrics()
            #expect(last.reusedConnection)
            // The first one made room.
            let first = try await client.fetch(origin.url("/", host: "h0.localhost")).metrics()
            #expect(!first.reusedConnection)
        }
    }

    @Test func closesAHostsLastConnection() async throws {
        try await withClient { client in
            for _ in 0..<3 {
                let recorder = try await client.fetch(origin.url("/"), isLastOfHost: true)
                let metrics = try await recorder.metrics()
                #expect(!metrics.reusedConnection)
            }
            #expect(origin.connectionsOpened == 3)
        }
    }

    @Test func sharesOneConnectionOverHTTP2() async throws {
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

    @Test func usesHTTP1WhereHTTP2IsNotOffered() async throws {
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

    @Test func goesOnElsewhereAfterGoAway() async throws {
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

    /// The server answers each request with what it knows of its connection, and closes it.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: openssl)))
    func anotherConnectionResumesTheSession() async throws {
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
            // The time limit ends a server that does not start.
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
        /// It takes longer than all else of a handshake. Each connection here is a new one, since
        /// none comes about.
        @Test(.enabled(if: CurlLibrary.certificateBundle != nil, "it takes ca-certificates"))
        func theSystemsAuthoritiesAreReadOnce() async throws {
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
                    // Each time, since equal events become one.
                    var events = [UInt8](repeating: 0, count: 4096)
                    if read(watch, &events, events.count) > 0 { opens += 1 }
                }
            }
            // Once by this loop; other tests have loops of their own.
            #expect((1..<15).contains(opens))
        }
    #endif

    @Test func idleConnectionsLeaveMostFilesToOthers() {
        #expect(MultiHandle.idleConnections(atMost: 64, openFiles: 1024) == 64)
        #expect(MultiHandle.idleConnections(atMost: 64, openFiles: 100) == 25)
        #expect(MultiHandle.idleConnections(atMost: -1, openFiles: 100) == 0)
    }
}
