import Logging
import Synchronization

final class ServerLog: Sendable {
    /// The limit on logged problems, because clients can cause any number of them.
    private static let maximumProblemsPerMinute = 20

    let logger: Logger?
    private let onProblem: @Sendable (String) -> Void
    private let state = Mutex((since: ContinuousClock.now, count: 0))

    init(_ logger: Logger? = nil, onProblem: @escaping @Sendable (String) -> Void) {
        self.logger = logger
        self.onProblem = onProblem
    }

    func problem(_ message: String) {
        guard isBelowLimit() else { return }
        onProblem(message)
        logger?.warning("\(message)")
    }

    func warning(_ message: String, _ metadata: @autoclosure () -> Logger.Metadata) {
        guard let logger, isBelowLimit() else { return }
        logger.warning("\(message)", metadata: metadata())
    }

    private func isBelowLimit() -> Bool {
        state.withLock { state in
            if ContinuousClock.now - state.since > .seconds(60) { state = (.now, 0) }
            state.count += 1
            return state.count <= Self.maximumProblemsPerMinute
        }
    }
}
