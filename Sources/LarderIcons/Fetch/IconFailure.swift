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
        /// The loader was let go of.
        case cancelled
    }

    /// The reason.
    public let code: Code
    /// The icon's URL, without a name and a password.
    public let url: String
    /// The reason in words.
    public let message: String
    /// What the cache or the fetcher threw.
    public let underlying: (any Error)?
    /// So many seconds at least the URL is not to be asked for again; nil for the loader's own
    /// time, ``IconLoader/Options/failureLifetime``.
    public let retryAfter: TimeInterval?

    /// A failure of the icon at `url`.
    public init(
        _ code: Code, url: URL, _ message: String, underlying: (any Error)? = nil,
        retryAfter: TimeInterval? = nil
    ) {
        self.code = code
        self.url = Self.withoutSecrets(url)
        self.message = message
        self.underlying = underlying
        self.retryAfter = retryAfter
    }
}

extension IconFailure {
    private static func withoutSecrets(_ url: URL) -> String {
        guard url.user != nil || url.password != nil,
            var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        else { return url.absoluteString }
        (components.user, components.password) = (nil, nil)
        return components.string ?? ""
    }
}

extension IconFailure: CustomStringConvertible {
    /// The URL and the reason in words.
    public var description: String { "\(url): \(message)" }
}
