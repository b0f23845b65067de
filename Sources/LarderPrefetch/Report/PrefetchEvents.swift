import LarderCache

/// The events of one run. The run is cancelled when the iterator is released.
public struct PrefetchEvents: AsyncSequence, Sendable {
    /// The type of the events.
    public typealias Element = PrefetchEvent

    let cancel: @Sendable () -> Void
    let start: @Sendable () -> EventChannel

    /// Starts the run.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(start(), cancel: cancel) }

    /// The iterator over the events of one run.
    public final class AsyncIterator: AsyncIteratorProtocol {
        private let channel: EventChannel
        private let cancel: @Sendable () -> Void
        private var batch: ArraySlice<PrefetchEvent> = []
        private var isFinished = false

        init(_ channel: EventChannel, cancel: @escaping @Sendable () -> Void) {
            (self.channel, self.cancel) = (channel, cancel)
        }

        deinit {
            guard !isFinished else { return }
            cancel()
            channel.abandon()
        }

        /// Returns the next event, or nil after the last event. Throws `ManifestError` or
        /// `CacheError` if the run could not start.
        public func next() async throws -> PrefetchEvent? {
            if batch.isEmpty, !isFinished {
                let (channel, cancel) = (channel, cancel)
                isFinished = true
                // A cancelled run still sends its report.
                batch = try await withTaskCancellationHandler {
                    try await channel.next()
                } onCancel: {
                    cancel()
                }[...]
                isFinished = batch.isEmpty
            }
            let event = batch.popFirst()
            // Releasing a finished iterator does not cancel the run. The timer may have added
            // progress after the last event.
            if case .finished? = event { (isFinished, batch) = (true, []) }
            return event
        }
    }
}

/// An event of a run. Events are sent in the order of the cases.
public enum PrefetchEvent: Sendable {
    /// The cache's index was rebuilt. Sent only if it was damaged or missing.
    case recovered(RecoveryReport)
    /// Manifests are being read. Sent a few times a second.
    case planning(PlanProgress)
    /// All manifests were read and compared with the cache.
    case planned(PlanSummary)
    /// The final result for an icon. See also ``PrefetchConfiguration/namesSuccesses``.
    case entry(EntryResult)
    /// Resources are being fetched. Sent a few times a second.
    case progress(Progress)
    /// The run has ended.
    case finished(Report)
}

typealias EventChannel = Channel<PrefetchEvent>

/// The progress of fetching.
public struct Progress: Sendable, Equatable {
    /// The number of URLs to fetch.
    public var total = 0
    /// The number of URLs that were answered or failed, including URLs being stored.
    public var arrived = 0
    /// The number of URLs stored durably, confirmed as unchanged, or failed.
    public var done = 0
    /// The number of failed URLs, including recorded failures from earlier runs.
    public var failed = 0
    /// The number of requests in flight.
    public var underWay = 0
    /// The number of URLs that wait for another attempt.
    public var waiting = 0
    /// The seconds until the next retry of a ``waiting`` URL, or nil.
    public var secondsToAttempt: Double?
    /// The number of body bytes received, including transfers in flight.
    public var receivedBytes: Int64 = 0
    /// The seconds since fetching started.
    public var seconds: Double = 0

    package init() {}

    /// The number of bytes received per second.
    public var bytesPerSecond: Double { seconds > 0 ? Double(receivedBytes) / seconds : 0 }

    /// The estimated seconds left, or nil if no URL has arrived.
    public var secondsLeft: Double? {
        arrived > 0 ? seconds / Double(arrived) * Double(max(0, total - arrived)) : nil
    }
}
