import Foundation
import LarderCache

/// The events of one run. The run is cancelled when the consumer stops asking.
public struct PrefetchEvents: AsyncSequence, Sendable {
    /// What the sequence consists of.
    public typealias Element = PrefetchEvent

    let start: @Sendable () -> (EventChannel, cancel: @Sendable () -> Void)

    /// Begins the run.
    public func makeAsyncIterator() -> AsyncIterator {
        let (channel, cancel) = start()
        return AsyncIterator(channel: channel, cancel: cancel)
    }

    /// Asks for one event after another.
    public final class AsyncIterator: AsyncIteratorProtocol {
        private let channel: EventChannel
        private let cancel: @Sendable () -> Void
        private var batch: ArraySlice<PrefetchEvent> = []
        private var isFinished = false

        init(channel: EventChannel, cancel: @escaping @Sendable () -> Void) {
            self.channel = channel
            self.cancel = cancel
        }

        deinit {
            guard !isFinished else { return }
            cancel()
            channel.abandon()
        }

        /// The next event; nil after the last.
        ///
        /// - Throws: `ManifestError` or `CacheError` if the run could not begin.
        public func next() async throws -> PrefetchEvent? {
            if batch.isEmpty, !isFinished {
                let (channel, cancel) = (channel, cancel)
                // An error is the end, too.
                isFinished = true
                // Cancelling the task interrupts the run, which still reports.
                batch = try await withTaskCancellationHandler {
                    try await channel.next()
                } onCancel: {
                    cancel()
                }[...]
                isFinished = batch.isEmpty
            }
            let event = batch.popFirst()
            // The consumer may stop after the last event.
            if case .finished? = event { isFinished = true }
            return event
        }
    }
}

/// What happens during a run, in order.
public enum PrefetchEvent: Sendable {
    /// The cache's index was damaged or gone, and was rebuilt. The first event, if it comes.
    case recovered(RecoveryReport)
    /// How far the reading of manifests is; a few times a second.
    case planning(PlanProgress)
    /// All manifests were read and compared with the cache; requests begin.
    case planned(PlanSummary)
    /// An entry is settled. One for each entry of the manifests.
    case entry(EntryResult)
    /// How far the run is; a few times a second.
    case progress(Progress)
    /// The run has ended. The last event.
    case finished(Report)
}

typealias EventChannel = Channel<PrefetchEvent>

/// How far a run is.
public struct Progress: Sendable, Equatable {
    /// URLs that are to be asked for.
    public var total = 0
    /// URLs that were answered or failed. Those that are not ``done`` yet are about to be stored.
    public var arrived = 0
    /// URLs that are settled: stored durably, unchanged or failed.
    public var done = 0
    /// URLs that failed, those included whose failure is remembered.
    public var failed = 0
    /// Requests that have begun and not ended.
    public var underWay = 0
    /// URLs that wait for another attempt.
    public var waiting = 0
    /// Seconds until the first waiting URL is tried again; nil if none waits.
    public var secondsToAttempt: Double?
    /// Body bytes received, those of unfinished transfers included.
    public var receivedBytes: Int64 = 0
    /// Seconds since the first request could be made.
    public var seconds: Double = 0

    /// Nothing has begun.
    public init() {}

    /// Bytes received per second.
    public var bytesPerSecond: Double { seconds > 0 ? Double(receivedBytes) / seconds : 0 }

    /// The time left in seconds if the rest goes on like this; nil before anything has arrived.
    public var secondsLeft: Double? {
        arrived > 0 ? seconds / Double(arrived) * Double(max(0, total - arrived)) : nil
    }
}
