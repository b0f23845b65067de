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
            // Whoever leaves at the last event has not abandoned the run.
            if case .finished = event { isFinished = true }
            return event
        }
    }
}
