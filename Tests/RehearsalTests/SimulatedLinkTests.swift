import Foundation
import LarderIcons
import Synchronization
import Testing

@testable import rehearse

@Suite struct SimulatedLinkTests {
    private static let urls = (0..<4).map { "https://a.example/\($0)" }
    private let rows = TableRows(urls)
    private let ledger: LinkLedger
    private let identities: ImageIdentities

    init() {
        ledger = LinkLedger(rows)
        identities = ImageIdentities(rows)
    }

    private func link(
        bytes: Int = 100_000, latency: Duration = .zero, bytesPerSecond: Int64? = nil,
        clock: VirtualClock = VirtualClock()
    ) -> SimulatedLink<VirtualClock> {
        SimulatedLink(
            StubFetcher(bytes: bytes), latency: latency, bytesPerSecond: bytesPerSecond,
            clock: clock, ledger: ledger, identities: identities)
    }

    private func request(_ number: Int) throws -> IconRequest {
        IconRequest(url: try #require(URL(string: Self.urls[number])))
    }

    @Test func latencyAndBandwidthDelayAFetch() async throws {
        let clock = VirtualClock()
        let link = link(latency: .milliseconds(40), bytesPerSecond: 100_000, clock: clock)
        _ = try await link.fetch(try request(0))
        #expect(clock.now.offset == .milliseconds(1040))
    }

    @Test func concurrentFetchesShareTheBandwidth() async throws {
        let clock = VirtualClock()
        let link = link(bytesPerSecond: 100_000, clock: clock)
        let requests = try (0..<4).map(request)
        try await withThrowingTaskGroup { group in
            for request in requests { group.addTask { _ = try await link.fetch(request) } }
            try await group.waitForAll()
        }
        let seconds = clock.now.offset / .seconds(1)
        #expect(abs(seconds - 4) < 0.000_001)
        #expect(ledger.counts.bytes == 400_000)
    }

    @Test func aLinkWithoutLimitsOnlyCounts() async throws {
        let clock = VirtualClock { _ in Issue.record("the link waited") }
        let link = link(clock: clock)
        for number in [0, 1, 0, 0] { _ = try await link.fetch(try request(number)) }
        let counts = ledger.counts
        #expect(counts.requests == 4)
        #expect(counts.downloads == 4)
        #expect(counts.repeatedDownloads == 2)
        #expect(counts.bytes == 400_000)
        #expect(counts.wastedBytes == 0)
    }

    @Test func bytesReceivedBeforeACancellationAreWasted() async throws {
        let task = Mutex<Task<Void, any Error>?>(nil)
        let clock = VirtualClock { number in
            if number == 3 { task.withLock { $0?.cancel() } }
        }
        let link = link(bytesPerSecond: 1, clock: clock)
        let request = try request(0)
        task.withLock { $0 = Task { _ = try await link.fetch(request) } }
        let running = try #require(task.withLock { $0 })
        await #expect(throws: CancellationError.self) { try await running.value }
        var counts = ledger.finalCounts()
        #expect(counts.cancelled == 1)
        #expect(counts.wastedBytes == Int64(2 * Bandwidth.piece))
        #expect(counts.bytes == counts.wastedBytes)
        // The cancelled fetch is not a download, so this one is not repeated.
        _ = try await link.fetch(request)
        counts = ledger.counts
        #expect(counts.downloads == 1)
        #expect(counts.repeatedDownloads == 0)
    }

    @Test func failuresAreCountedAndTheFirstIsRecorded() async throws {
        let link = SimulatedLink(
            StubFetcher(bytes: nil), clock: VirtualClock(), ledger: ledger, identities: identities)
        for number in 0..<2 {
            let request = try request(number)
            await #expect(throws: IconFailure.self) { try await link.fetch(request) }
        }
        #expect(ledger.counts.failures == 2)
        #expect(ledger.counts.firstFailure?.code == "other")
        #expect(ledger.counts.firstFailure?.message == "https://a.example/0: there is none")
    }

    @Test func downloadedImagesAreIdentified() async throws {
        _ = try await link().fetch(try request(0))
        let (own, other) = (StubFetcher.data(Self.urls[0], 100_000), Data([1]))
        #expect(identities.accept(own, of: Self.urls[0]))
        #expect(!identities.accept(other, of: Self.urls[0]))
        #expect(!identities.accept(own, of: "https://a.example/unknown"))
        // Without a download, the first bytes seen are accepted.
        #expect(identities.accept(other, of: Self.urls[1]))
        #expect(!identities.accept(own, of: Self.urls[1]))
        // A server may send other bytes each time. All of them are accepted.
        identities.note(other, of: Self.urls[0])
        #expect(identities.accept(other, of: Self.urls[0]))
    }
}

@Suite struct BandwidthTests {
    @Test func piecesAreTransferredOneAfterAnother() {
        var line = Bandwidth(bytesPerSecond: 1000)
        #expect(line.book(500, at: .zero) == .milliseconds(500))
        #expect(line.book(500, at: .milliseconds(100)) == .seconds(1))
        // The line was idle for a second. Later pieces cannot use that time.
        #expect(line.book(500, at: .seconds(2)) == .milliseconds(2500))
    }
}
