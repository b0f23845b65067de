import Foundation
import LarderIcons
import LarderPrefetch
import Synchronization

/// A fetcher behind a line with a latency and a bandwidth, which counts what goes over it.
///
/// Each request waits for the latency, then the icon is fetched, and then its bytes wait for their
/// share of the line. Without latency and bandwidth it only counts.
final class SimulatedLink<LinkClock: Clock>: IconFetcher
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
    init(
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

/// A line that all transfers share: each piece takes its time on it, one after another.
struct Bandwidth {
    /// What one transfer sends before the others have their turn.
    static let piece = 16 << 10

    private let bytesPerSecond: Double
    /// When the line is free, since the beginning.
    private var free = Duration.zero

    init(bytesPerSecond: Int64) { self.bytesPerSecond = Double(max(1, bytesPerSecond)) }

    /// Takes the line for so many bytes.
    ///
    /// - Returns: when the last of them arrives.
    mutating func book(_ bytes: Int, at now: Duration) -> Duration {
        free = max(free, now) + .seconds(Double(bytes) / bytesPerSecond)
        return free
    }
}

/// What went over a link.
struct LinkCounts: Sendable, Equatable {
    /// Fetches that were begun.
    var requests = 0
    /// Those that came to their bytes.
    var downloads = 0
    /// Of these, those of a URL that had been downloaded before.
    var repeatedDownloads = 0
    /// Fetches that failed.
    var failures = 0
    /// Fetches that were cancelled before their last byte.
    var cancelled = 0
    /// Bytes of bodies that came, those of cancelled fetches included, and of failed ones not.
    var bytes: Int64 = 0
    /// Bytes that came of fetches that were then cancelled.
    var wastedBytes: Int64 = 0

    /// Why the first one failed.
    var firstFailure: Failure?

    struct Failure: Sendable, Equatable {
        /// As `larder prefetch` has it, such as `http-404`.
        let code: String
        /// URL and reason; safe to print.
        let message: String
    }

    init() {}

    /// Fetches that have not ended.
    var underWay: Int { requests - downloads - failures - cancelled }
}

/// Counts what goes over a link, and knows which URLs were downloaded.
final class LinkLedger: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `condition`.
    private let condition = NSCondition()
    private var current = LinkCounts()
    /// By the number of a URL.
    private var isDownloaded: [Bool]
    private let rows: TableRows

    init(_ rows: TableRows) {
        self.rows = rows
        isDownloaded = Array(repeating: false, count: rows.urlCount)
    }

    /// What went over the link so far.
    var counts: LinkCounts { condition.withLock { current } }

    /// The same once nothing is under way, if that is so within some seconds.
    func finalCounts(patience: TimeInterval = 5) -> LinkCounts {
        let deadline = Date(timeIntervalSinceNow: patience)
        return condition.withLock {
            while current.underWay > 0, condition.wait(until: deadline) {}
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
            if current.underWay == 0 { condition.broadcast() }
        }
    }
}

/// What the image of each URL looks like, so that another row's image is known as one whoever hands
/// it over.
final class ImageIdentities: Sendable {
    private static let unknown: UInt64 = 0
    /// Its server sends another image each time.
    private static let several: UInt64 = 1

    private let rows: TableRows
    /// By the number of a URL.
    private let prints: Mutex<[UInt64]>

    init(_ rows: TableRows) {
        self.rows = rows
        prints = Mutex(Array(repeating: Self.unknown, count: rows.urlCount))
    }

    /// Notes what has come over the link for a URL.
    func note(_ data: Data, of url: String) {
        guard let number = rows.number(of: url) else { return }
        let print = Self.print(of: data)
        prints.withLock { prints in
            let known = prints[number]
            prints[number] = known == Self.unknown || known == print ? print : Self.several
        }
    }

    /// Whether this may be the image of the URL. What was not downloaded is taken for it when it is
    /// first seen.
    func accept(_ data: Data, of url: String) -> Bool {
        guard let number = rows.number(of: url) else { return false }
        let print = Self.print(of: data)
        return prints.withLock { prints in
            if prints[number] == Self.unknown { prints[number] = print }
            return [print, Self.several].contains(prints[number])
        }
    }

    /// Of the length and both ends: the whole would take the main thread's time.
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
