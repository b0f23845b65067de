import Foundation
import Synchronization

/// The line at the bottom of a terminal that is drawn again and again, below all messages. It never
/// takes a second row, and so never scrolls. In the background, there is none.
///
/// The cursor waits at its beginning: if the terminal becomes narrower and breaks the line in two,
/// all of it still lies behind the cursor.
final class StatusLine: Sendable {
    private struct State {
        var text: ProgressText?
        /// How many columns the text took that is on the terminal now.
        var columns = 0
    }

    private let state = Mutex(State())
    /// Where a terminal knows no sequences to erase with, blanks do it.
    private let isPlain = Terminal.isDumb

    /// Puts a text in the place of the last one.
    func draw(_ text: ProgressText) {
        state.withLock { state in
            state.text = text
            redraw(&state)
        }
    }

    func redraw() { state.withLock { redraw(&$0) } }

    func erase() {
        state.withLock { state in
            if state.text != nil { StandardStreams.write(blank(&state)) }
            state.text = nil
        }
    }

    /// Calls `body`, which writes whole lines to standard error, while nothing is in their way.
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
        // In the last column, some terminals go on to the next row.
        let width = Terminal.columns
        let line = text.fitted(to: width - 1)
        let columns = line.columns
        let rest =
            isPlain
            ? blanks(state.columns - columns, width - 1 - columns) : Self.eraseRest
        StandardStreams.write("\(eraseBroken(state, width))\r\(line)\(rest)\r")
        state.columns = columns
    }

    private func blank(_ state: inout State) -> String {
        defer { state.columns = 0 }
        // What is where the cursor is belongs to a shell.
        guard Terminal.isInForeground else { return "" }
        let width = Terminal.columns
        return eraseBroken(state, width)
            + (isPlain ? "\r\(blanks(state.columns, width - 1))\r" : "\r\(Self.eraseRest)")
    }

    // ECMA-48 has EL and CUD; to save and restore the cursor is DEC's. To erase all below at once
    // would have tmux keep it above the screen.
    private static let eraseRest = "\u{1B}[K"

    /// What erases the rows below that a narrower terminal has made of the line.
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
