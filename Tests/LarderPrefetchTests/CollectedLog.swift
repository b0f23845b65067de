import Logging
import Synchronization

/// Collects log messages.
final class CollectedLog: Sendable {
    private let collected = Mutex<[(message: String, metadata: Logger.Metadata)]>([])

    var logger: Logger {
        var logger = Logger(label: "test") { [self] _ in Handler(collector: self) }
        logger.logLevel = .trace
        return logger
    }

    /// All messages with their metadata.
    var text: String {
        collected.withLock { $0 }.map { "\($0.message) \($0.metadata)" }.joined(separator: "\n")
    }

    /// The metadata of each message with this text.
    func messages(_ message: String) -> [[String: String]] {
        collected.withLock { $0 }.filter { $0.message == message }
            .map { $0.metadata.mapValues { "\($0)" } }
    }

    private struct Handler: LogHandler {
        let collector: CollectedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            collector.collected.withLock { $0.append(("\(event.message)", event.metadata ?? [:])) }
        }
    }
}
