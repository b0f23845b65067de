import LarderTestSupport
import Testing

/// `--max-object-size`, which is enforced while a body arrives.
@Suite struct SizeLimitTests {
    @Test func anObjectOfExactlyTheLimitIsAllowed() async throws {
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

    /// 5 MB are sent as 40 kB.
    @Test func theLimitAppliesToTheDecodedSize() async throws {
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

    /// The limit is the default of 16 MiB, and the response has no Content-Length.
    @Test func anEndlessBodyIsCutOff() async throws {
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
            // The sockets of both ends may hold bytes beyond the limit.
            #expect(sent < 64 << 20)
            #expect(run.summary.receivedBytes <= 17 << 20)
            #expect(try larder.status().objects == 1)
            #expect(try larder.temporaries().isEmpty)
        }
    }
}
