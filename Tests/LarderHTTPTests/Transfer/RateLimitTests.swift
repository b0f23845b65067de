import LarderTestSupport
import LarderTestTLS
import Testing

@testable import LarderHTTP

/// The token bucket at instants of the test, and transfers with a rate limit.
@Suite(.timeLimit(.minutes(30))) struct RateLimitTests {
    private let start = ContinuousClock.now

    private func id(_ number: UInt64) -> TransferID { TransferID(number: number) }

    @Test func theBucketAdmitsItsBytesAndOnePieceBeyond() {
        let limit = RateLimit(bytesPerSecond: 1000, now: start)
        // The bytes of a quarter of a second, and the piece that exceeds them.
        #expect(limit.admits(200, of: id(1), now: start))
        #expect(limit.admits(200, of: id(1), now: start))
        #expect(!limit.admits(1, of: id(1), now: start))
        #expect(limit.next(now: start) == nil)
        // The bucket owes 150 bytes.
        #expect(limit.delay(now: start)! >= .milliseconds(150))
        #expect(limit.delay(now: start)! <= .milliseconds(152))
        #expect(limit.next(now: start + .milliseconds(149)) == nil)
        #expect(limit.next(now: start + .milliseconds(152)) == id(1))
        #expect(limit.delay(now: start + .milliseconds(152)) == nil)
    }

    @Test func waitingTransfersAreAdmittedInOrder() {
        let limit = RateLimit(bytesPerSecond: 1000, now: start)
        #expect(limit.admits(1250, of: id(1), now: start))
        for number in 1...3 { #expect(!limit.admits(100, of: id(UInt64(number)), now: start)) }
        let later = start + .milliseconds(1001)
        #expect(limit.next(now: later) == id(1))
        // No transfer overtakes the waiting ones. Only the next one is admitted.
        #expect(!limit.admits(100, of: id(4), now: later))
        #expect(limit.admits(100, of: id(1), now: later))
        #expect(!limit.admits(100, of: id(1), now: later))
        #expect(
            [2, 3, 4, 1].map { _ in limit.next(now: start + .seconds(60)) } == [2, 3, 4, 1].map(id))
        #expect(limit.next(now: start + .seconds(60)) == nil)
    }

    @Test func theBucketHoldsAtMostAQuarterOfASecond() {
        let limit = RateLimit(bytesPerSecond: 1000, now: start)
        let later = start + .seconds(3600)
        #expect(limit.admits(250, of: id(1), now: later))
        #expect(!limit.admits(1, of: id(1), now: later))
    }

    @Test func emptyPiecesAreAlwaysAdmitted() {
        let limit = RateLimit(bytesPerSecond: 1, now: start)
        #expect(limit.admits(1000, of: id(1), now: start))
        #expect(limit.admits(0, of: id(2), now: start))
        #expect(limit.delay(now: start) == nil)
    }

    // MARK: Transfers

    static let body = (0..<30_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    @Test(arguments: [false, true]) func theRateLimitAppliesToAllTransfersTogether(
        overHTTP2: Bool
    ) async throws {
        let origin = try Origin(replies: ["/x": .ok(Self.body)])
        let front = try TLSFront(originPort: origin.port)
        defer { front.stop() }
        let url = overHTTP2 ? front.url("/x") : origin.url("/x")
        let start = ContinuousClock.now
        try await withClient {
            $0.maximumBytesPerSecond = 60_000
            $0.certificateAuthorities = TestCertificates.authorityPath
        } _: { client async throws in
            for _ in 0..<5 { try client.start(url) }
            for recorder in client.recorders {
                _ = try await recorder.metrics()
                #expect(recorder.body == Self.body)
            }
        }
        // 150,000 bytes, minus 15,000 in the bucket and one piece. The piece is a whole body if
        // libcurl had received all of it before delivery.
        #expect(ContinuousClock.now - start >= .milliseconds(1_750))
    }

    /// Both transfers stay below the stall speed for longer than the stall timeout.
    @Test func aTransferThatWaitsForTheRateLimitDoesNotStall() async throws {
        let origin = try Origin(replies: ["/x": .ok(Self.body)])
        try await withClient {
            $0.maximumBytesPerSecond = 9_000
            $0.stallTimeout = .seconds(5)
            $0.stallSpeed = 1_000_000
        } _: { client async throws in
            for _ in 0..<2 { try client.start(origin.url("/x")) }
            for recorder in client.recorders { _ = try await recorder.metrics() }
        }
    }

    @Test func aTransferWithARateLimitCanPause() async throws {
        let origin = try Origin(replies: ["/x": .ok(Self.body)])
        try await withClient {
            $0.maximumBytesPerSecond = 60_000
        } _: { client async throws in
            let paused = Recorder(verdict: { _, pieces in pieces == 1 ? .pause : .proceed })
            let id = try client.start(origin.url("/x"), recorder: paused).id
            await paused.reached(.bytes)
            let other = try await client.fetch(origin.url("/x"))
            #expect(other.body == Self.body)
            client.loop.resume(id)
            client.loop.resume(id)
            _ = try await paused.metrics()
            #expect(paused.body == Self.body)
        }
    }

    @Test func aTransferThatWaitsForTheRateLimitCanBeCancelled() async throws {
        let origin = try Origin(replies: ["/x": .ok(Self.body)])
        try await withClient {
            $0.maximumBytesPerSecond = 1_000
        } _: { client async throws in
            let first = try client.start(origin.url("/x"))
            let second = try client.start(origin.url("/x"))
            await first.recorder.reached(.bytes)
            try await origin.waitForRequests(2)
            for transfer in [second, first] { client.loop.cancel(transfer.id) }
            for transfer in [second, first] {
                #expect(await transfer.recorder.error()?.code == .cancelled)
            }
        }
    }
}
