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
    private let watches = Mutex<[SignalWatch]>([])

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
        let queue = DispatchQueue(label: "larder.progress-line")
        var signals = [SIGUSR1]
        #if canImport(Darwin)
            signals.append(SIGINFO)
        #endif
        var watches = signals.map { signal in
            SignalWatch(signal, on: queue) { [weak self] in self?.printOnce() }
        }
        if Terminal.isThere, !isQuiet {
            watches.append(SignalWatch(SIGWINCH, on: queue) { Console.statusLine.redraw() })
        }
        self.watches.withLock { $0 = watches }
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
