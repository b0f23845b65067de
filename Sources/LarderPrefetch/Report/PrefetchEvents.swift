import Foundation
import LarderCache

/// The events of one run, which begins with the first demand and is cancelled when the consumer
/// stops asking.
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
            while batch.isEmpty {
                guard !isFinished else { return nil }
                let (channel, cancel) = (channel, cancel)
                do {
                    // Cancelling the task interrupts the run, which still reports.
                    batch = try await withTaskCancellationHandler {
                        try await channel.next()
                    } onCancel: {
                        cancel()
                    }[...]
                } catch {
                    isFinished = true
                    throw error
                }
                if batch.isEmpty { isFinished = true }
            }
            let event = batch.removeFirst()
            // The consumer may stop after the last event.
            if case .finished = event { isFinished = true }
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

/// A bounded channel from a run's threads to one asynchronous consumer. Producers wait while the
/// consumer lags.
///
/// Producers block, so only the run's own threads may send, never tasks.
final class Channel<Element: Sendable>: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `condition`.
    private let capacity: Int
    private let condition = NSCondition()
    private var events: [Element] = []
    private var end: Result<Void, any Error>?
    private var isAbandoned = false
    private var consumer: CheckedContinuation<[Element], any Error>?

    /// - Parameter capacity: With this many elements, producers wait.
    init(capacity: Int) { self.capacity = capacity }

    /// Waits for room, then sends. Does nothing once the channel is abandoned.
    func send(_ more: [Element]) {
        condition.lock()
        while events.count >= capacity, !isAbandoned { condition.wait() }
        if !isAbandoned { events += more }
        deliver()
    }

    /// Sends if there is room, else drops the element, which a later one replaces.
    func offer(_ event: Element) {
        condition.lock()
        if events.count < capacity, !isAbandoned, end == nil { events.append(event) }
        deliver()
    }

    /// Ends the sequence after what was sent.
    func finish(_ result: Result<Void, any Error>) {
        condition.lock()
        end = result
        deliver()
    }

    /// Stops receiving: producers no longer wait.
    func abandon() {
        condition.lock()
        isAbandoned = true
        events = []
        condition.broadcast()
        deliver()
    }

    /// Returns the waiting elements, at least one, or none at the end.
    func next() async throws -> [Element] {
        try await withCheckedThrowingContinuation { continuation in
            condition.lock()
            consumer = continuation
            deliver()
        }
    }

    /// Delivers elements to a waiting consumer. Called with the lock held, which it releases.
    private func deliver() {
        guard let waiting = consumer, !events.isEmpty || end != nil || isAbandoned else {
            return condition.unlock()
        }
        consumer = nil
        let batch = events
        events = []
        let end = batch.isEmpty ? self.end : nil
        condition.broadcast()
        condition.unlock()
        if case .failure(let error)? = end {
            waiting.resume(throwing: error)
        } else {
            waiting.resume(returning: batch)
        }
    }
}

typealias EventChannel = Channel<PrefetchEvent>

/// How far a run is.
public struct Progress: Sendable, Equatable {
    /// URLs that are to be asked for.
    public var total = 0
    /// URLs that have come to an end: their bytes have arrived, or nothing changed, or they failed.
    /// Those that are not ``done`` yet are about to be stored.
    public var arrived = 0
    /// URLs that are settled: stored durably, unchanged or failed.
    public var done = 0
    /// URLs that failed, those included whose failure is remembered.
    public var failed = 0
    /// Requests that have begun and not ended.
    public var underWay = 0
    /// URLs that wait for another attempt.
    public var waiting = 0
    /// So many seconds from now, the first of those that wait is tried again; nil if none waits.
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
