import Foundation
import LarderIcons
import LarderPrefetch
import Synchronization

/// A fetcher behind a line with a latency and a bandwidth, which counts what goes over it.
///
/// Each request waits for the latency, then the icon is fetched, and then its bytes wait for their
/// share of the line. Without latency and bandwidth it only counts.
package final class SimulatedLink<LinkClock: Clock>: IconFetcher
where LinkClock.Duration == Duration {
    private let fetcher: any IconFetcher
    private let latency: Duration
    private let clock: LinkClock
    private let start: LinkClock.Instant
    /// Nil if there is as much as comes.
    private let bandwidth: Mutex<Bandwidth?>
    private let ledger: LinkLedger
    private let identities: ImageIdentities

    /// - Parameters:
    ///   - fetcher: gets the icons.
    ///   - latency: how long each request takes before its first byte, beside what it takes anyway.
    ///     Default: none.
    ///   - bytesPerSecond: what all transfers together may receive. Default: nil, as much as comes.
    package init(
        _ fetcher: any IconFetcher, latency: Duration = .zero, bytesPerSecond: Int64? = nil,
        clock: LinkClock = ContinuousClock(), ledger: LinkLedger, identities: ImageIdentities
    ) {
        self.fetcher = fetcher
        self.latency = latency
        self.clock = clock
        self.ledger = ledger
        self.identities = identities
        start = clock.now
        bandwidth = Mutex(bytesPerSecond.map { Bandwidth(bytesPerSecond: $0) })
    }

    package func fetch(_ request: IconRequest) async throws -> FetchedIcon {
        var received = 0
        ledger.begin()
        do {
            if latency > .zero { try await clock.sleep(for: latency) }
            let icon = try await fetcher.fetch(request)
            try await receive(icon.data.count, &received)
            identities.note(icon.data, of: request.url.absoluteString)
            ledger.finish(request.url.absoluteString)
            return icon
        } catch {
            if Task.isCancelled || error is CancellationError {
                ledger.cancel(after: received)
            } else {
                ledger.fail(LinkCounts.Failure(error, of: request.url))
            }
            throw error
        }
    }

    private func receive(_ bytes: Int, _ received: inout Int) async throws {
        while received < bytes {
            let piece = min(Bandwidth.piece, bytes - received)
            let now = start.duration(to: clock.now)
            guard let arrival = bandwidth.withLock({ $0?.book(piece, at: now) }) else {
                ledger.receive(bytes)
                received = bytes
                return
            }
            try await clock.sleep(until: start.advanced(by: arrival), tolerance: nil)
            received += piece
            ledger.receive(piece)
        }
    }
}

extension LinkCounts.Failure {
    fileprivate init(_ error: any Error, of url: URL) {
        let failure = error as? IconFailure
        code = (failure?.underlying as? FetchFailure)?.code ?? "other"
        let reason = (failure?.message ?? "\(error)").sanitizedForTerminal
        message = "\(url.absoluteString.shownAsURL): \(reason)"
    }
}
