@preconcurrency import Dispatch

/// Sends a run's progress a few times a second.
final class ProgressTicker: Sendable {
    private let timer: any DispatchSourceTimer

    init(reporter: Reporter, stage: FetchStage, channel: EventChannel) {
        let start = ContinuousClock.now
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "larder.progress"))
        timer.schedule(deadline: .now() + 0.1, repeating: 0.2)
        timer.setEventHandler {
            var progress = reporter.progress
            progress.receivedBytes = stage.receivedBytes
            progress.seconds = (ContinuousClock.now - start) / .seconds(1)
            channel.offer(.progress(progress))
        }
        timer.resume()
    }

    deinit { timer.cancel() }

    func stop() { timer.cancel() }
}
