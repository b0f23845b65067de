import LarderHTTP
import LarderPrefetch
import LarderTestSupport
import LarderTestTLS
import Testing

/// The retries in `docs/network.md`, observed at an origin.
@Suite struct RetryTableTests {
    /// Causes each failure that a test can cause, except timeouts.
    @Test func failedTransfersAreRetriedAsDocumented() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            origin.on("/truncated", .ok(Icons.png).cut(after: 10))
            origin.on("/large", .ok([UInt8](repeating: 0, count: 200_000)))
            origin.on("/head", .ok("").hugeHeaders(count: 100, bytes: 1000))
            origin.on("/garbage", .raw("SSH-2.0-OpenSSH_9.2\r\n"))
            origin.on("/lost", .ok(Icons.png).reset(after: 0))
            // Answers a TLS handshake with plain HTTP.
            let plain = try EndlessServer().url.replacing("http:", with: "https:")
            let closing = try EndlessServer(closing: 3).url.replacing("http:", with: "https:")
            let distrusted = try TLSFront(originPort: origin.port, certificate: .selfSigned)
            try expectAttempts(
                [
                    (.nameNotResolved, "http://larder.invalid/a", nil),
                    (.connectionRefused, "http://127.0.0.1:\(try Origin.refusedPort())/a", nil),
                    (.certificate, distrusted.url("/a"), nil),
                    (.tls, plain, nil),
                    (.bodyTruncated, origin.url("/truncated"), "/truncated"),
                    (.tooLarge, origin.url("/large"), "/large"),
                    (.headersTooLarge, origin.url("/head"), "/head"),
                    (.malformedResponse, origin.url("/garbage"), "/garbage"),
                    (.connectionLost, origin.url("/lost"), "/lost"),
                    // The server closes the connection during the handshake.
                    (.connectionLost, closing, nil),
                ], by: larder, options: ["--max-object-size", "100kB"])
        }
    }

    /// In a separate test, because on a busy machine the short limits would end other transfers.
    @Test func timeoutsAreRetriedAsDocumented() async throws {
        try await withFixture { larder in
            let hole = try BlackHole()
            try expectAttempts(
                [(.connectTimeout, "http://127.0.0.1:\(hole.port)/a", nil)],
                by: larder, options: ["--connect-timeout", "1s"])
            let origin = larder.origin
            origin.on("/stalled", .ok(Icons.png).stalling(after: 10))
            try expectAttempts(
                [(.stalled, origin.url("/stalled"), "/stalled")],
                by: larder, options: ["--stall-timeout", "1s"])
            // Sends without a pause, but too slowly to finish in time.
            origin.on(
                "/timeout", .ok([UInt8](repeating: 0, count: 50_000)).trickled(50, every: 0.01))
            try expectAttempts(
                [(.timeout, origin.url("/timeout"), "/timeout")],
                by: larder, options: ["--timeout", "3s"])
        }
    }

    private func expectAttempts(
        _ cases: [(code: TransferError.Code, url: String, path: String?)],
        by larder: CLIFixture, options: [String]
    ) throws {
        let run = try larder.prefetch(
            try larder.manifest(urls: cases.map(\.url)), options: ["--attempts", "3"] + options)
        for (number, expected) in cases.enumerated() {
            let line = try run.line(number + 1)
            let attempts = expected.code.isTransient ? 3 : 1
            #expect(line.error?.code == expected.code.rawValue, "\(run.finished)")
            #expect(line.attempts == attempts, "\(expected.code)")
            if let path = expected.path { #expect(larder.origin.count(path) == attempts) }
        }
    }
}
