import Foundation
import Synchronization

/// The progress line at the bottom of a terminal. It takes one row, so it never scrolls.
///
/// The cursor stays at the start of the line. If a narrower terminal breaks the line, its further
/// rows are therefore below the cursor.
final class StatusLine: Sendable {
    private struct State {
        var text: ProgressText?
        var columns = 0
    }

    private let state = Mutex(State())
    private let isPlain = Terminal.isDumb

    func draw(_ text: ProgressText? = nil) {
        state.withLock { state in
            state.text = text ?? state.text
            redraw(&state)
        }
    }

    func erase() {
        state.withLock { state in
            if state.text != nil { StandardStreams.write(blank(&state)) }
            state.text = nil
        }
    }

    /// Erases the line while `body` writes whole lines to standard error.
    func around(_ body: () -> Void) {
        state.withLock { state in
            guard state.text != nil else { return body() }
            StandardStreams.write(blank(&state))
            body()
            redraw(&state)
        }
    }

    private func redraw(_ state: inout State) {
        guard let text = state.text else { return }
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

    // EL of ECMA-48. ED is not used, because tmux would keep the erased text in its history.
    private static let eraseRest = "\u{1B}[K"

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

/// Progress on standard error: the status line on a terminal, or else a line every five seconds.
/// SIGUSR1 and SIGINFO (`^T`, on Darwin) print a line immediately, even in a quiet run.
final class ProgressLine: Sendable {
    private static let interval: Duration = .seconds(5)
    private static let drawInterval: Duration = .milliseconds(50)
    private let isQuiet: Bool
    private let state = Mutex(State())

    private struct State {
        var latest: ProgressText?
        var lastMade: ContinuousClock.Instant?
        var lastShown: ContinuousClock.Instant?
    }

    init(isQuiet: Bool) {
        self.isQuiet = isQuiet
        // Waits five seconds before the first line, so that a short run prints no progress.
        if !Terminal.isThere { state.withLock { $0.lastShown = .now } }
        var signals = [SIGUSR1]
        #if canImport(Darwin)
            signals.append(SIGINFO)
        #endif
        for signal in signals { SignalWatch.start(signal) { [weak self] in self?.printOnce() } }
        if Terminal.isThere, !isQuiet {
            SignalWatch.start(SIGWINCH) { Console.statusLine.draw() }
        }
    }

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

    /// Erases the line. The next call of ``show(_:)`` draws it again without delay.
    func clear() {
        state.withLock { state in
            (state.latest, state.lastMade) = (nil, nil)
            if Terminal.isThere { state.lastShown = nil }
        }
        Console.statusLine.erase()
    }

    private func printOnce() {
        let latest = state.withLock { $0.latest }
        Console.write((latest?.whole ?? "larder: no progress to show yet") + "\n")
    }
}
