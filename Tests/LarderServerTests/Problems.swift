import Synchronization

/// The problems that a server has reported.
final class Problems: Sendable {
    private let messages = Mutex<[String]>([])

    var all: [String] { messages.withLock { $0 } }

    @Sendable func add(_ message: String) { messages.withLock { $0.append(message) } }
}
