import Logging
import Synchronization

/// The server's messages: problems for its user, and events for the log of its operator.
final class ServerLog: Sendable {
    /// Clients can cause any number of problems.
    private static let mostProblemsAMinute = 20

    let logger: Logger?
    private let tell: @Sendable (String) -> Void
    private let state = Mutex((since: ContinuousClock.now, count: 0))

    init(_ logger: Logger? = nil, onProblem: @escaping @Sendable (String) -> Void) {
        self.logger = logger
        tell = onProblem
    }

    /// Tells the user of a problem, unless there were many within a minute.
    func problem(_ message: String) {
        guard mayTell() else { return }
        tell(message)
        logger?.warning("\(message)")
    }

    /// Logs a warning, unless there were many within a minute.
    func warning(_ message: String, _ metadata: @autoclosure () -> Logger.Metadata) {
        guard let logger, mayTell() else { return }
        logger.warning("\(message)", metadata: metadata())
    }

    private func mayTell() -> Bool {
        state.withLock { state in
            if ContinuousClock.now - state.since > .seconds(60) { state = (.now, 0) }
            state.count += 1
            return state.count <= Self.mostProblemsAMinute
        }
    }
}
