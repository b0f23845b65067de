import LarderTestSupport
import LarderTestTLS
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(30))) struct TransferTests {
    let origin: Origin
    static let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    init() throws {
        origin = try Origin(replies: ["/small": .ok("small"), "/body": .ok(Self.body)])
    }

    // MARK: Size

    @Test func anAnnouncedSizeAboveTheLimitFails() async throws {
        origin.on("/ten-gigabytes", Reply.ok(Self.body).announcing(length: 10_000_000_000))
        try await withClient { client in
            let recorder = try await client.fetch(origin.url("/ten-gigabytes"))
            #expect(await recorder.error()?.code == .tooLarge)
            #expect(await recorder.error()?.message.contains("10000000000") == true)
            #expect(recorder.heads.count == 1)
            #expect(recorder.body.isEmpty)
        }
    }

    enum Framing: CaseIterable {
        case chunks, endless, untilClose

        var reply: Reply {
            switch self {
            case .chunks: Reply.ok(TransferTests.body).chunked([10_000, 10_000])
            case .endless: Reply.endless(TransferTests.body)
            case .untilClose: Reply.ok(TransferTests.body).withoutLength()
            }
        }
    }

    @Test(arguments: Framing.allCases)
    func anUnannouncedSizeAboveTheLimitFails(_ framing: Framing) async throws {
        origin.on("/x", framing.reply)
        try await withClient { client in
            let recorder = try await client.fetch(origin.url("/x"), maximumBodyBytes: 100_000)
            #expect(await recorder.error()?.code == .tooLarge)
            #expect(recorder.body.count <= 100_000)
            #expect(recorder.body == Array(Self.body.prefix(recorder.body.count)))
        }
    }

    @Test func aBodyOfExactlyTheLimitIsAllowed() async throws {
        origin.on("/x", Reply.ok(Self.body).chunked([10_000]))
        let size = Int64(Self.body.count)
        try await withClient { client in
            for path in ["/x", "/body"] {
                let whole = try await client.fetch(origin.url(path), maximumBodyBytes: size)
                #expect(await whole.error() == nil)
                #expect(whole.body == Self.body)
                let over = try await client.fetch(origin.url(path), maximumBodyBytes: size - 1)
                #expect(await over.error()?.code == .tooLarge)
            }
        }
    }

    @Test func theSizeLimitCountsDecodedBytes() async throws {
        // 10,000 times "a" in gzip.
        let encoded: [UInt8] = [
            31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 237, 193, 1, 13, 0, 0, 0, 194, 160, 172, 239, 95, 194,
            28, 110, 64, 1, 0, 0, 0, 0, 0, 0, 0, 0, 192, 191, 1, 151, 212, 126, 70, 16, 39, 0, 0,
        ]
        origin.on("/bomb", .ok(encoded).header("Content-Encoding", "gzip"))
        try await withClient { client in
            let over = try await client.fetch(origin.url("/bomb"), maximumBodyBytes: 9_999)
            #expect(await over.error()?.code == .tooLarge)
            let whole = try await client.fetch(origin.url("/bomb"), maximumBodyBytes: 10_000)
            #expect(await whole.error() == nil)
            #expect(whole.body.count == 10_000)
        }
    }

    @Test func a304CanAnnounceABodyOfAnySize() async throws {
        // A 304 has the length that a 200 would have (RFC 9110, section 8.6).
        origin.on("/304", Reply.notModified.header("Content-Length", "99999999999"))
        try await withClient { client in
            let recorder = try await client.fetch(origin.url("/304"))
            #expect(await recorder.error() == nil)
            #expect(recorder.heads.map(\.status) == [304])
        }
    }

    // MARK: Unwanted bodies

    @Test func anUnwantedSmallBodyKeepsTheConnection() async throws {
        origin.on("/404", .status(404))
        try await withClient { client in
            for _ in 0..<3 {
                let unwanted = Recorder(wantsBody: { _ in false })
                _ = try await client.fetch(origin.url("/404"), recorder: unwanted)
                #expect(await unwanted.error()?.code == .abandoned)
                #expect(unwanted.pieces == 0)
            }
            #expect(origin.connectionsOpened == 1)
        }
    }

    @Test(arguments: Framing.allCases)
    func anUnwantedLargeBodyIsNotRead(_ framing: Framing) async throws {
        origin.on("/x", framing.reply)
        try await withClient { client in
            let unwanted = Recorder(wantsBody: { _ in false })
            _ = try await client.fetch(origin.url("/x"), recorder: unwanted)
            #expect(await unwanted.error()?.code == .abandoned)
            #expect(unwanted.pieces == 0)
            #expect(try await client.fetch(origin.url("/small")).text == "small")
        }
    }

    @Test func aReceiverCanStopATransfer() async throws {
        try await withClient { client in
            let enough = Recorder(verdict: { _, pieces in pieces < 3 ? .proceed : .stop })
            _ = try await client.fetch(origin.url("/body"), recorder: enough)
            #expect(await enough.error()?.code == .abandoned)
            #expect(enough.pieces == 3)
        }
    }

    // MARK: Pauses

    @Test func aPausedTransferResumesWhereItPaused() async throws {
        try await withClient { client in
            let paused = Recorder(verdict: { _, pieces in pieces == 1 ? .pause : .proceed })
            let id = try client.start(origin.url("/body"), recorder: paused).id
            await paused.reached(.bytes)
            #expect(try await client.fetch(origin.url("/small")).text == "small")
            #expect(paused.body.isEmpty)
            #expect(paused.ends.isEmpty)
            client.loop.resume(id)
            #expect(try await paused.metrics().receivedBytes == Int64(Self.body.count))
            #expect(paused.body == Self.body)
        }
    }

    @Test func aTransferCanPauseAtEveryOtherPiece() async throws {
        try await withClient { client in
            let paused = try pausing(client, at: origin.url("/held"))
            _ = try await paused.metrics()
            #expect(paused.body == Self.body)
            #expect(paused.pieces > 10)
        }
    }

    @Test func anHTTP2TransferCanPauseAtEveryOtherPiece() async throws {
        let front = try TLSFront(originPort: origin.port)
        defer { front.stop() }
        try await withClient {
            $0.certificateAuthorities = TestCertificates.authorityPath
        } _: { client in
            let paused = try pausing(client, at: front.url("/held"))
            _ = try await paused.metrics()
            #expect(paused.body == Self.body)
            #expect(paused.pieces > 10)
        }
    }

    /// Starts a transfer that pauses at every other piece. It is resumed before the pause returns
    /// to libcurl, so libcurl does not know of the pause yet.
    private func pausing(_ client: Client, at url: String) throws -> Recorder {
        let resume = Mutex<(@Sendable () -> Void)?>(nil)
        let paused = Recorder(verdict: { _, pieces in
            guard pieces % 2 == 1 else { return .proceed }
            resume.withLock { $0?() }
            return .pause
        })
        let gate = try Gate()
        origin.on("/held", Reply.ok(Self.body).heldBy(gate))
        let id = try client.start(url, recorder: paused).id
        resume.withLock { $0 = { client.loop.resume(id) } }
        gate.open()
        return paused
    }

    @Test func aPausedTransferDoesNotStall() async throws {
        try await withClient {
            $0.stallTimeout = .seconds(1)
        } _: { client in
            let paused = Recorder(verdict: { _, pieces in pieces == 1 ? .pause : .proceed })
            let id = try client.start(origin.url("/body"), recorder: paused).id
            await paused.reached(.bytes)
            // A transfer that started later has stalled, but the paused one has not.
            origin.on("/stalls", Reply.ok(Self.body).stalling(after: 1))
            #expect(try await client.fetch(origin.url("/stalls")).error()?.code == .stalled)
            client.loop.resume(id)
            _ = try await paused.metrics()
            #expect(paused.body == Self.body)
        }
    }

    @Test func aPausedTransferCanFailAfterItResumes() async throws {
        try await withClient { client in
            let paused = Recorder(verdict: { _, pieces in pieces == 1 ? .pause : .stop })
            let id = try client.start(origin.url("/body"), recorder: paused).id
            await paused.reached(.bytes)
            client.loop.resume(id)
            #expect(await paused.error()?.code == .abandoned)
        }
    }
}
