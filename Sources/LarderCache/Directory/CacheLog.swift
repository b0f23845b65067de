/// A receiver of diagnostic messages about a cache. Secrets in URLs are masked.
///
///     let log = CacheLog { level, message in if level >= .info { print(message()) } }
public struct CacheLog: Sendable {
    /// The importance of a message.
    public enum Level: Int, Sendable, Comparable, CaseIterable {
        /// Steps of an operation, for example a committed batch.
        case debug
        /// Results of operations, for example of an eviction.
        case info
        /// Events that may need attention, for example a rebuilt index.
        case notice
        /// Failures after which the operation continues.
        case warning

        /// Orders levels by importance.
        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    private let write: @Sendable (Level, () -> String) -> Void

    /// Creates a log that calls `write` on any thread. `message` computes the text.
    public init(_ write: @escaping @Sendable (_ level: Level, _ message: () -> String) -> Void) {
        self.write = write
    }

    /// A log that ignores messages without computing them.
    public static let none = CacheLog { _, _ in }

    package func callAsFunction(_ level: Level, _ message: @autoclosure () -> String) {
        write(level, message)
    }
}
