@preconcurrency import Dispatch
import Synchronization

/// Sends a run's progress a few times a second.
final class ProgressTicker: Sendable {
    private let timer: any DispatchSourceTimer
    private let reporter: Reporter
    private let channel: EventChannel
    private let start = ContinuousClock.now
    /// What was settled without the queue.
    private let before: Int
    private let isStopped = Mutex(false)

    init(queue: FetchQueue, reporter: Reporter, channel: EventChannel) {
        self.reporter = reporter
        self.channel = channel
        before = reporter.progress.done
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "larder.progress"))
        timer.schedule(deadline: .now() + 0.1, repeating: 0.2)
        timer.setEventHandler { [weak self] in
            queue.sample { [weak self] in self?.send($0) }
        }
        timer.resume()
    }

    deinit { timer.cancel() }

    /// Sends nothing any more once this has returned.
    func stop() {
        timer.cancel()
        isStopped.withLock { $0 = true }
    }

    private func send(_ sample: QueueProgress) {
        var progress = reporter.progress
        progress.arrived = max(before + sample.arrived, progress.done)
        progress.underWay = sample.underWay
        progress.waiting = sample.waiting
        progress.secondsToAttempt = sample.nextAttempt.map { ($0 - .now) / .seconds(1) }
        progress.receivedBytes = sample.receivedBytes
        progress.seconds = (ContinuousClock.now - start) / .seconds(1)
        isStopped.withLock { if !$0 { channel.offer(.progress(progress)) } }
    }
}
