import Foundation
import Synchronization

/// Progress on standard error: a line at the bottom of a terminal, or else a line every five
/// seconds. SIGUSR1 and SIGINFO (`^T`, on Darwin) print a line immediately, even in a quiet run. On
/// a terminal, the line takes one row, so it never scrolls, and the cursor stays at its start. If
/// the terminal becomes narrower and wraps the line, the wrapped rows are below the cursor.
final class StatusLine: Sendable {
    private struct State {
        var isQuiet = true
        var latest: ProgressText?
        var lastMade: ContinuousClock.Instant?
        var lastShown: ContinuousClock.Instant?
        var isDrawn = false
        var columns = 0
    }

    private static let drawInterval: Duration = .milliseconds(50)
    private static let interval = Terminal.isThere ? drawInterval : .seconds(5)
    // EL of ECMA-48. ED is not used, because tmux would keep the erased text in its history.
    private static let eraseRest = "\u{1B}[K"

    private let state = Mutex(State())
    private let isPlain = Terminal.isDumb

    func start(isQuiet: Bool) -> StatusLine {
        state.withLock { state in
            state.isQuiet = isQuiet
            // Waits five seconds before the first line, so that a short run prints no progress.
            if !Terminal.isThere { state.lastShown = .now }
        }
        var signals = [SIGUSR1]
        #if canImport(Darwin)
            signals.append(SIGINFO)
        #endif
        for signal in signals { SignalWatch.start(signal) { [self] in printOnce() } }
        if Terminal.isThere, !isQuiet {
            SignalWatch.start(SIGWINCH) { [self] in state.withLock { redraw(&$0) } }
        }
        return self
    }

    func show(_ text: @autoclosure () -> ProgressText) {
        state.withLock { state in
            let now = ContinuousClock.now
            guard isDue(after: Self.drawInterval, state.lastMade) else { return }
            let text = text()
            (state.latest, state.lastMade) = (text, now)
            guard !state.isQuiet, isDue(after: Self.interval, state.lastShown) else { return }
            state.lastShown = now
            state.isDrawn = Terminal.isThere
            if state.isDrawn { redraw(&state) } else { StandardStreams.write(text.whole + "\n") }
        }

        func isDue(after interval: Duration, _ last: ContinuousClock.Instant?) -> Bool {
            last.map { ContinuousClock.now - $0 >= interval } ?? true
        }
    }

    /// Erases the line. The next call of ``show(_:)`` draws it again without delay.
    func clear() {
        state.withLock { state in
            if state.isDrawn { StandardStreams.write(blank(&state)) }
            (state.latest, state.lastMade, state.isDrawn) = (nil, nil, false)
            if Terminal.isThere { state.lastShown = nil }
        }
    }

    /// Erases the line while `body` writes whole lines to standard error.
    func around(_ body: () -> Void) {
        state.withLock { state in
            guard state.isDrawn else { return body() }
            StandardStreams.write(blank(&state))
            body()
            redraw(&state)
        }
    }

    private func printOnce() {
        let latest = state.withLock { $0.latest }
        Console.write((latest?.whole ?? "larder: no progress to show yet") + "\n")
    }

    private func redraw(_ state: inout State) {
        guard state.isDrawn, let text = state.latest else { return }
        guard Terminal.isInForeground else {
            state.columns = 0
            return
        }
        // Leaves the last column empty, because some terminals move to the next row after it.
        let width = Terminal.columns
        let line = text.fitted(to: width - 1)
        let columns = line.columns
        let rest = isPlain ? blanks(state.columns - columns, width - 1 - columns) : Self.eraseRest
        StandardStreams.write("\(eraseBroken(state, width))\r\(line)\(rest)\r")
        state.columns = columns
    }

    private func blank(_ state: inout State) -> String {
        defer { state.columns = 0 }
        // In the background, drawing would overwrite a shell's prompt.
        guard Terminal.isInForeground else { return "" }
        let width = Terminal.columns
        return eraseBroken(state, width)
            + (isPlain ? "\r\(blanks(state.columns, width - 1))\r" : "\r\(Self.eraseRest)")
    }

    private func eraseBroken(_ state: State, _ width: Int) -> String {
        guard !isPlain, state.columns > width else { return "" }
        let row = "\u{1B}[B\r\(Self.eraseRest)"
        return "\u{1B}7"
            + String(repeating: row, count: (state.columns - 1) / max(1, width)) + "\u{1B}8"
    }

    private func blanks(_ columns: Int, _ limit: Int) -> String {
        String(repeating: " ", count: max(0, min(columns, limit)))
    }
}
