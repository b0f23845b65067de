/// Receives messages about the work on a cache, for diagnosis. The secrets in URLs are masked.
///
///     let log = CacheLog { level, message in
///         if level >= .info { print(message()) }
///     }
///     let cache = try Cache.open(at: path, log: log)
public struct CacheLog: Sendable {
    /// How important a message is.
    public enum Level: Int, Sendable, Comparable, CaseIterable {
        /// Single steps, such as one committed batch.
        case debug
        /// The results of whole operations, such as an eviction.
        case info
        /// Something that a person may have to know, such as a rebuilt index.
        case notice
        /// A failure after which the work goes on.
        case warning

        /// Less important is less.
        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    private let write: (@Sendable (Level, () -> String) -> Void)?

    /// Calls `write` with every message, on any thread. The text is made when `message` is called.
    public init(_ write: @escaping @Sendable (_ level: Level, _ message: () -> String) -> Void) {
        self.write = write
    }

    private init() { write = nil }

    /// No log. Messages are not made.
    public static let none = CacheLog()

    package var isEnabled: Bool { write != nil }

    package func callAsFunction(_ level: Level, _ message: @autoclosure () -> String) {
        write?(level, message)
    }
}
