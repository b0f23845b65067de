import LarderTestSupport
import Testing

/// `--max-object-size`, enforced while receiving.
@Suite struct SizeLimitTests {
    @Test func theLimitItselfIsAllowed() async throws {
        try await withFixture { larder in
            let bytes = [UInt8](repeating: 7, count: 100_000)
            larder.origin.on("/whole", .ok(bytes))
            larder.origin.on("/more", .ok(bytes + [7]))
            larder.origin.on("/unannounced", .ok(bytes + [7]).chunked())
            let run = try larder.prefetch(
                try larder.manifest(
                    urls: ["/whole", "/more", "/unannounced"].map { larder.origin.url($0) }),
                options: ["--any-content", "--max-object-size", "100kB"])
            #expect(run.outcomes == ["fetched", "failed", "failed"])
            #expect(run.summary.failures == ["too-large": 2])
        }
    }

    /// What counts is what it takes decoded: 5 MB come as 40 kB.
    @Test func aCompressedBodyIsBoundedAfterDecoding() async throws {
        try await withFixture { larder in
            let bomb = Reply.deflated([UInt8](repeating: 0, count: 5_000_000))
            #expect(bomb.bodyLength < 100_000)
            larder.origin.on("/bomb", bomb)
            let run = try larder.prefetch(
                try larder.manifest(larder.origin.url("/bomb")),
                options: ["--any-content", "--max-object-size", "100kB"])
            #expect(run.summary.failures == ["too-large": 1])
            #expect(run.summary.receivedBytes <= 100_000)
            #expect(try larder.temporaries().isEmpty)
        }
    }

    /// The default of 16 MiB, and a body that announces nothing and never ends.
    @Test func aBodyThatNeverEndsIsCutOff() async throws {
        try await withFixture { larder in
            let endless = try EndlessServer()
            let urls = larder.origin.serveIcons(1)
            let run = try larder.prefetch(try larder.manifest(endless.url, urls[0]))
            #expect(run.status == 2)
            #expect(run.outcomes == ["failed", "fetched"])
            #expect(try run.line(1).error?.code == "too-large")
            #expect(try run.line(1).attempts == 1)
            let sent = endless.waitForEnd()
            #expect(sent > 15 << 20)
            // Beyond the limit lies what both ends' sockets may hold.
            #expect(sent < 64 << 20)
            #expect(run.summary.receivedBytes <= 17 << 20)
            #expect(try larder.status().objects == 1)
            #expect(try larder.temporaries().isEmpty)
        }
    }
}
