import Foundation
import LarderIcons
import LarderPrefetch
import Synchronization

/// A fetcher that simulates the latency and bandwidth of a network link, and counts the traffic.
///
/// A request waits for the latency, fetches the icon, and waits until its bytes would have arrived.
final class SimulatedLink<LinkClock: Clock>: IconFetcher
where LinkClock.Duration == Duration {
    private let fetcher: any IconFetcher
    private let latency: Duration
    private let clock: LinkClock
    private let start: LinkClock.Instant
    private let bandwidth: Mutex<Bandwidth?>
    private let ledger: LinkLedger
    private let identities: ImageIdentities

    /// - Parameters:
    ///   - fetcher: Downloads the icons.
    ///   - latency: Added to each request. Default: none.
    ///   - bytesPerSecond: The bandwidth of all transfers. Default: nil, no limit.
    init(
        _ fetcher: any IconFetcher, latency: Duration = .zero, bytesPerSecond: Int64? = nil,
        clock: LinkClock = ContinuousClock(), ledger: LinkLedger, identities: ImageIdentities
    ) {
        (self.fetcher, self.latency, self.clock) = (fetcher, latency, clock)
        (self.ledger, self.identities) = (ledger, identities)
        start = clock.now
        bandwidth = Mutex(bytesPerSecond.map { Bandwidth(bytesPerSecond: $0) })
    }

    func fetch(_ request: IconRequest) async throws -> FetchedIcon {
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
        code = (failure?.underlying as? ResourceFailure)?.code ?? "other"
        let reason = (failure?.message ?? "\(error)").sanitizedForTerminal
        message = "\(url.absoluteString.shownAsURL): \(reason)"
    }
}

/// A shared link, which sends one piece after another.
struct Bandwidth {
    /// The number of bytes that a transfer receives before other transfers can use the link.
    static let piece = 16 << 10

    private let bytesPerSecond: Double
    /// The time at which the link becomes free.
    private var free = Duration.zero

    init(bytesPerSecond: Int64) { self.bytesPerSecond = Double(max(1, bytesPerSecond)) }

    /// Reserves the link for some bytes. Returns the time at which the last byte arrives.
    mutating func book(_ bytes: Int, at now: Duration) -> Duration {
        free = max(free, now) + .seconds(Double(bytes) / bytesPerSecond)
        return free
    }
}

struct LinkCounts: Sendable, Equatable {
    var requests = 0
    var downloads = 0
    /// Downloads of URLs that were downloaded before.
    var repeatedDownloads = 0
    var failures = 0
    /// Fetches cancelled before their last byte.
    var cancelled = 0
    /// The received bytes, including cancelled fetches but not failed ones.
    var bytes: Int64 = 0
    /// The received bytes of cancelled fetches.
    var wastedBytes: Int64 = 0

    var firstFailure: Failure?

    struct Failure: Sendable, Equatable {
        /// A code of `larder prefetch`, for example `http-404`.
        let code: String
        /// The URL and the reason, safe to print.
        let message: String
    }

    var inProgress: Int { requests - downloads - failures - cancelled }
}

/// The counters of a link, and the set of downloaded URLs.
final class LinkLedger: @unchecked Sendable {
    // Unchecked because the state is mutable. Every access holds `condition`.
    private let condition = NSCondition()
    private var current = LinkCounts()
    /// By ``TableRows/number(of:)``.
    private var isDownloaded: [Bool]
    private let rows: TableRows

    init(_ rows: TableRows) {
        self.rows = rows
        isDownloaded = Array(repeating: false, count: rows.urlCount)
    }

    var counts: LinkCounts { condition.withLock { current } }

    /// Returns the counts when no fetch is in progress, or after five seconds.
    func finalCounts() -> LinkCounts {
        let deadline = Date(timeIntervalSinceNow: 5)
        return condition.withLock {
            while current.inProgress > 0, condition.wait(until: deadline) {}
            return current
        }
    }

    func begin() { condition.withLock { current.requests += 1 } }

    func receive(_ bytes: Int) { condition.withLock { current.bytes += Int64(bytes) } }

    func finish(_ url: String) {
        let number = rows.number(of: url)
        end { counts in
            counts.downloads += 1
            guard let number else { return }
            if isDownloaded[number] { counts.repeatedDownloads += 1 }
            isDownloaded[number] = true
        }
    }

    func cancel(after bytes: Int) {
        end { counts in
            counts.cancelled += 1
            counts.wastedBytes += Int64(bytes)
        }
    }

    func fail(_ failure: @autoclosure () -> LinkCounts.Failure) {
        end { counts in
            counts.failures += 1
            counts.firstFailure = counts.firstFailure ?? failure()
        }
    }

    private func end(_ count: (inout LinkCounts) -> Void) {
        condition.withLock {
            count(&current)
            if current.inProgress == 0 { condition.broadcast() }
        }
    }
}

/// Fingerprints of images by URL, to detect images of other rows.
final class ImageIdentities: Sendable {
    private static let unknown: UInt64 = 0
    /// The server sent different images for the URL.
    private static let several: UInt64 = 1

    private let rows: TableRows
    /// By ``TableRows/number(of:)``.
    private let prints: Mutex<[UInt64]>

    init(_ rows: TableRows) {
        self.rows = rows
        prints = Mutex(Array(repeating: Self.unknown, count: rows.urlCount))
    }

    func note(_ data: Data, of url: String) {
        guard let number = rows.number(of: url) else { return }
        let print = Self.print(of: data)
        prints.withLock { prints in
            let known = prints[number]
            prints[number] = known == Self.unknown || known == print ? print : Self.several
        }
    }

    /// Whether the data may be the URL's image. If no image of the URL was downloaded, the first
    /// image is accepted.
    func accept(_ data: Data, of url: String) -> Bool {
        guard let number = rows.number(of: url) else { return false }
        let print = Self.print(of: data)
        return prints.withLock { prints in
            if prints[number] == Self.unknown { prints[number] = print }
            return [print, Self.several].contains(prints[number])
        }
    }

    /// Returns a fingerprint of the length and both ends. Hashing all bytes would block the main
    /// thread.
    private static func print(of data: Data) -> UInt64 {
        var print = UInt64(data.count)
        func add(_ part: Data) {
            part.withUnsafeBytes { bytes in
                for byte in bytes { print = (print ^ UInt64(byte)) &* 0x100_0000_01B3 }
            }
        }
        add(data.prefix(512))
        add(data.suffix(512))
        return max(print, several + 1)
    }
}
