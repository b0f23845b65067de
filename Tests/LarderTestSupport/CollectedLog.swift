import Logging
import Synchronization

/// A log that keeps its messages in memory.
public final class CollectedLog: Sendable {
    private struct Message: Sendable {
        let level: Logger.Level
        let text: String
        let metadata: [String: String]
    }

    private let collected = Mutex<[Message]>([])

    /// Creates an empty log.
    public init() {}

    /// A logger that adds messages of every level to this log.
    public var logger: Logger {
        Logger(label: "test") { [self] _ in Handler(collector: self) }
    }

    /// One line per message: level, text and metadata sorted by key.
    public var lines: [String] {
        collected.withLock { $0 }.map { message in
            let metadata = message.metadata.sorted { $0.key < $1.key }
                .map { " \($0.key)=\($0.value)" }.joined()
            return "\(message.level) \(message.text)\(metadata)"
        }
    }

    /// Returns the metadata of each message with this text.
    public func messages(_ text: String) -> [[String: String]] {
        collected.withLock { $0 }.filter { $0.text == text }.map(\.metadata)
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
            let message = Message(
                level: event.level, text: "\(event.message)",
                metadata: (event.metadata ?? [:]).mapValues { "\($0)" })
            collector.collected.withLock { $0.append(message) }
        }
    }
}
