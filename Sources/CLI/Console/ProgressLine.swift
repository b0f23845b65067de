import Foundation
import LarderPresentation
import Synchronization

/// Shows progress on standard error: in one line that is drawn again and again on a terminal, as a
/// line every few seconds elsewhere, not at all when quiet. SIGUSR1, and SIGINFO (`^T`) on systems
/// that have it, print a line at once. From any thread.
final class ProgressLine: Sendable {
    private static let interval: Duration = .seconds(5)
    /// More often than that, nobody sees it.
    private static let drawInterval: Duration = .milliseconds(50)

    private let isQuiet: Bool
    private let state = Mutex(State())

    private struct State {
        /// What SIGUSR1 prints.
        var latest: ProgressText?
        var lastMade: ContinuousClock.Instant?
        var lastShown: ContinuousClock.Instant?
    }

    init(isQuiet: Bool) {
        self.isQuiet = isQuiet
        // A run that is soon over has no line there.
        if !Terminal.isThere { state.withLock { $0.lastShown = .now } }
        var signals = [SIGUSR1]
        #if canImport(Darwin)
            signals.append(SIGINFO)
        #endif
        for signal in signals { SignalWatch.start(signal) { [weak self] in self?.printOnce() } }
        if Terminal.isThere, !isQuiet {
            SignalWatch.start(SIGWINCH) { Console.statusLine.redraw() }
        }
    }

    /// - Parameter text: is not made more often than somebody could read it.
    func show(_ text: @autoclosure () -> ProgressText) {
        state.withLock { state in
            let now = ContinuousClock.now
            guard isDue(after: Self.drawInterval, state.lastMade) else { return }
            let text = text()
            (state.latest, state.lastMade) = (text, now)
            let interval = Terminal.isThere ? Self.drawInterval : Self.interval
            guard !isQuiet, isDue(after: interval, state.lastShown) else { return }
            state.lastShown = now
            if Terminal.isThere {
                Console.statusLine.draw(text)
            } else {
                Console.write(text.whole + "\n")
            }
        }

        func isDue(after interval: Duration, _ last: ContinuousClock.Instant?) -> Bool {
            last.map { ContinuousClock.now - $0 >= interval } ?? true
        }
    }

    /// Removes the line: what it was about has ended. The next one comes at once.
    func clear() {
        state.withLock { state in
            (state.latest, state.lastMade) = (nil, nil)
            if Terminal.isThere { state.lastShown = nil }
        }
        Console.statusLine.erase()
    }

    private func printOnce() {
        let latest = state.withLock { $0.latest }
        Console.write((latest?.whole ?? "larder: there is no progress to show") + "\n")
    }
}
