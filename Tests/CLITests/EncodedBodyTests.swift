import LarderTestSupport
import Testing

/// Encoded bodies that are small in transfer and huge when decoded.
@Suite struct EncodedBodyTests {
    /// 96 MiB of zeros, deflated twice to about 300 bytes.
    private static let bomb: [UInt8] =
        [
            120, 218, 237, 220, 45, 78, 67, 81, 20, 133, 209, 251, 66, 73, 0, 1, 69, 160, 48, 29,
            70,
            77, 83, 64, 160, 17, 96, 48, 132, 1, 32, 73, 112, 109, 66, 240, 76, 162, 186, 170, 73,
            109, 29, 51, 224, 71, 49, 0, 130, 32, 4, 69, 120, 164, 111, 24, 119, 175, 53, 132, 45,
            79,
            78, 190, 187, 183, 143, 85, 211, 148, 82, 166, 143, 127, 243, 207, 173, 157, 2, 0, 0, 0,
            84, 110, 250, 122, 191, 177, 62, 6, 148, 65, 251, 124, 122, 118, 1, 0, 0, 0, 212, 238,
            122, 111, 183, 215, 29, 5, 126, 175, 14, 143, 205, 1, 0, 0, 0, 213, 123, 24, 13, 251,
            221,
            135, 192, 215, 228, 166, 103, 14, 0, 0, 0, 168, 222, 193, 207, 251, 81, 119, 11, 120,
            106,
            23, 251, 231, 246, 0, 0, 0, 128, 234, 189, 8, 6, 0, 0, 0, 64, 20, 193, 0, 0, 0, 0, 200,
            34,
            24, 0, 0, 0, 0, 89, 4, 3, 0, 0, 0, 32, 140, 96, 0, 0, 0, 0, 100, 17, 12, 0, 0, 0, 128,
            44,
            130, 1, 0, 0, 0, 144, 69, 48, 0, 0, 0, 0, 194, 8, 6, 0, 0, 0, 64, 22, 193, 0, 0, 0, 0,
            200,
            34, 24, 0, 0, 0, 0, 89, 4, 3, 0, 0, 0, 32, 140, 96, 0, 0, 0, 0, 100, 17, 12, 0, 0, 0,
            128,
        ] + [
            44, 130, 1, 0, 0, 0, 144, 69, 48, 0, 0, 0, 0, 194, 8, 6, 0, 0, 0, 64, 22, 193, 0, 0, 0,
            0,
            200, 50, 27, 13, 7, 235, 199, 128, 254, 119, 123, 59, 62, 217, 44, 0, 0, 0, 121, 150,
            219,
            151, 165, 52, 255, 184, 157, 59, 210,
        ]

    /// The limit on peak memory in bytes. Any prefetch of a debug build uses 50 MB. Each transfer
    /// used 64 MB more while libcurl decoded the bodies.
    private static let memoryLimit = 70_000_000

    private func prefetch(
        _ larder: CLIFixture, _ urls: [String]
    ) async throws -> (run: PrefetchRun, peak: Int?) {
        let report = larder.directory.path("report.jsonl")
        let arguments = larder.prefetchArguments([try larder.manifest(urls: urls)], report: report)
        let finished = try await onThreadOfItsOwn {
            try larder.binary.run(
                arguments + ["--any-content", "--max-per-host", "16"], timeout: 120)
        }
        return (try PrefetchRun(finished, report: report), finished.peakMemoryBytes)
    }

    @Test func decompressionBombsAreTooLargeAndUseLittleMemory() async throws {
        try await withFixture { larder in
            larder.origin.onAny { _ in
                Reply.ok(Self.bomb).header("Content-Encoding", "deflate, deflate")
            }
            let urls = (0..<16).map { larder.origin.url("/\($0)") }
            let (run, peak) = try await prefetch(larder, urls)
            #expect(run.summary.failures == ["too-large": 16], "\(run.finished)")
            #expect(try #require(peak) < Self.memoryLimit)
            #expect(try larder.temporaries().isEmpty)
        }
    }

    /// The file name in the gzip header never ends, so decoding yields no byte.
    @Test func anEndlessGzipHeaderIsTooLarge() async throws {
        try await withFixture { larder in
            let endless = try EndlessServer(
                fields: "Content-Encoding: gzip\r\n",
                beginning: [0x1F, 0x8B, 8, 8, 0, 0, 0, 0, 0, 3])
            let (run, peak) = try await prefetch(larder, [endless.url])
            #expect(run.summary.failures == ["too-large": 1], "\(run.finished)")
            #expect(try #require(peak) < Self.memoryLimit)
            // The limit is 16 MiB. The socket buffers of both sides can hold more.
            #expect(endless.waitForEnd() < 64 << 20)
        }
    }

    @Test func aDecompressionBombAsManifestIsTooLarge() async throws {
        try await withFixture { larder in
            larder.origin.on(
                "/apps.json", Reply.ok(Self.bomb).header("Content-Encoding", "deflate, deflate"))
            let url = larder.origin.url("/apps.json")
            let finished = try larder.run(
                "prefetch", url, "--allow-private-network", "--max-manifest-size", "1MB")
            #expect(finished.status == 66 || finished.status == 65)
            #expect(finished.standardError.contains("--max-manifest-size"))
        }
    }
}
