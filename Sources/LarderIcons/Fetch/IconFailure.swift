import Foundation

/// Why there is no icon.
public struct IconFailure: Error, Sendable {
    /// The reason.
    public enum Code: String, Sendable {
        /// It is not cached, and there is nothing to fetch it with.
        case notCached = "not-cached"
        /// It is cached, its bytes cannot be read, and there is nothing to fetch it with.
        case unreadable
        /// It could not be fetched.
        case fetch
        /// Nobody waits for it any more.
        case cancelled
    }

    /// The reason.
    public let code: Code
    /// The icon's URL.
    public let url: String
    /// The reason in words.
    public let message: String
    /// What the cache or the fetcher threw.
    public let underlying: (any Error)?
    /// So many seconds the URL is not to be asked for again; nil for the loader's own time.
    public let retryAfter: TimeInterval?

    /// A failure of the icon at `url`.
    public init(
        _ code: Code, url: URL, _ message: String, underlying: (any Error)? = nil,
        retryAfter: TimeInterval? = nil
    ) {
        self.code = code
        self.url = url.absoluteString
        self.message = message
        self.underlying = underlying
        self.retryAfter = retryAfter
    }
}

extension IconFailure: CustomStringConvertible {
    /// The URL and the reason in words.
    public var description: String { "\(url): \(message)" }
}
