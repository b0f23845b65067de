import Foundation
import LarderKit
import Synchronization

/// Shows progress on standard error: one line rewritten in place on a terminal, a line every few
/// seconds elsewhere, nothing when quiet. From any thread.
final class ProgressLine: Sendable {
    private static let interval: Duration = .seconds(5)

    private let isQuiet: Bool
    private let isTerminal = Console.isTerminal
    private let state = Mutex(State())

    private struct State {
        var isShown = false
        var last = ContinuousClock.now
    }

    init(isQuiet: Bool) { self.isQuiet = isQuiet }

    func show(_ text: String) {
        guard !isQuiet else { return }
        state.withLock { state in
            if isTerminal {
                // Erase to the end of the line: the last text may have been longer.
                Console.write("\r\(text)\u{1B}[K")
                state.isShown = true
            } else if ContinuousClock.now - state.last >= Self.interval {
                state.last = .now
                Console.write(text + "\n")
            }
        }
    }

    /// Makes room for other text.
    func clear() {
        state.withLock { state in
            guard state.isShown else { return }
            Console.write("\r\u{1B}[K")
            state.isShown = false
        }
    }
}
