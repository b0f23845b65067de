import Foundation

/// What other threads have for the main thread.
package final class Inbox: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `condition`.
    private let condition = NSCondition()
    private var arrivals: [Arrival] = []
    private var isEnded = false

    package init() {}

    package func post(_ arrival: Arrival) {
        condition.withLock {
            arrivals.append(arrival)
            condition.signal()
        }
    }

    /// The rehearsal is to end.
    package func end() {
        condition.withLock {
            isEnded = true
            condition.broadcast()
        }
    }

    package var hasEnded: Bool { condition.withLock { isEnded } }

    /// Takes what is there.
    package func take() -> [Arrival] {
        condition.withLock {
            defer { arrivals = [] }
            return arrivals
        }
    }

    /// Returns when that time has come, or all is to end; if asked for, also when there is
    /// something to take.
    package func wait(until date: Date, orArrival: Bool) {
        condition.withLock {
            while !isEnded, !orArrival || arrivals.isEmpty {
                guard condition.wait(until: date) else { return }
            }
        }
    }
}
