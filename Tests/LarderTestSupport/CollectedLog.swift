import Logging
import Synchronization

/// Collects the messages of a log.
public final class CollectedLog: Sendable {
    private struct Message: Sendable {
        let level: Logger.Level
        let text: String
        let metadata: [String: String]
    }

    private let collected = Mutex<[Message]>([])

    /// A log without messages.
    public init() {}

    /// A logger whose messages are collected, of every level.
    public var logger: Logger {
        Logger(label: "test") { [self] _ in Handler(collector: self) }
    }

    /// A line for each message: its level, its text and its metadata.
    public var lines: [String] {
        collected.withLock { $0 }.map { message in
            let metadata = message.metadata.sorted { $0.key < $1.key }
                .map { " \($0.key)=\($0.value)" }.joined()
            return "\(message.level) \(message.text)\(metadata)"
        }
    }

    /// The metadata of each message with this text.
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
