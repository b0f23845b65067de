import Foundation

/// Fetches icons for an ``IconLoader``, which limits their number and chooses the order.
///
/// LarderPrefetch has `TransferFetcher` (libcurl), and Apple's platforms have `URLSessionFetcher`.
public protocol IconFetcher: Sendable {
    /// Fetches one icon.
    ///
    /// The task is cancelled if no caller waits for the icon. The result is shown and stored, so
    /// check that it is the icon, and not a server's error page.
    ///
    /// - Throws: Any error. It becomes an ``IconFailure``, which is remembered for a time. Throw an
    ///   `IconFailure` to set the minimum.
    func fetch(_ request: IconRequest) async throws -> FetchedIcon
}

/// A request for an icon, for an ``IconFetcher``. Its priority may change during the fetch.
public final class IconRequest: @unchecked Sendable {
    // Unchecked because there are variables: every access holds `lock`.
    private let lock = NSLock()
    private var current: IconPriority
    private var onChange: (@Sendable (IconPriority) -> Void)?

    /// The icon's URL.
    public let url: URL

    /// A request for `url`.
    public init(url: URL, priority: IconPriority = .normal) {
        self.url = url
        current = priority
    }

    /// The highest priority of the waiting callers.
    public var priority: IconPriority { lock.withLock { current } }

    /// Calls `body`, in place of an earlier one, with each new priority, on any thread. Calls can
    /// be concurrent, and ``priority`` is the latest. The request retains `body`.
    public func onPriorityChange(_ body: @escaping @Sendable (IconPriority) -> Void) {
        lock.withLock { onChange = body }
    }

    func change(to priority: IconPriority) -> Bool {
        lock.withLock {
            defer { current = priority }
            return current != priority
        }
    }

    func tell() {
        let (priority, body) = lock.withLock { (current, onChange) }
        body?(priority)
    }
}

/// An icon and its response.
public struct FetchedIcon: Sendable {
    /// The whole body, decoded.
    public var data: Data
    /// The media type by content, for example `image/png`; nil if unknown.
    public var mediaType: String?
    /// The response's header fields. `ETag`, `Cache-Control` and others are stored.
    public var headers: [(name: String, value: String)]
    /// The URL after redirects; nil if there were none.
    public var responseURL: String?

    /// An icon of these bytes. By default, nothing else is known of it.
    public init(
        data: Data, mediaType: String? = nil, headers: [(name: String, value: String)] = [],
        responseURL: String? = nil
    ) {
        self.data = data
        self.mediaType = mediaType
        self.headers = headers
        self.responseURL = responseURL
    }

    func values(of name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }
}

/// The priority of an icon. Icons with the same priority are loaded in the order of requests.
public enum IconPriority: Int, Sendable, Comparable, CaseIterable {
    case veryLow
    /// Upcoming rows, see ``IconLoader/prefetch(_:)``.
    case low
    case normal
    case high
    /// Visible rows.
    case veryHigh

    /// Whether `left` is the lower priority.
    public static func < (left: IconPriority, right: IconPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The failure to load an icon.
public struct IconFailure: Error, Sendable, CustomStringConvertible {
    /// The reason.
    public enum Code: String, Sendable {
        /// It is not cached, and there is no fetcher.
        case notCached = "not-cached"
        /// Its bytes cannot be read or decoded.
        case unreadable
        case fetch
        /// The loader was released.
        case cancelled
    }

    /// The reason.
    public let code: Code
    /// The icon's URL, without credentials.
    public let url: String
    /// The reason in words.
    public let message: String
    /// The error of the cache or the fetcher.
    public let underlying: (any Error)?
    /// Minimum time until the URL is fetched again, in seconds. Nil for
    /// ``IconLoader/Options/failureLifetime``.
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

    /// The URL and the reason in words.
    public var description: String { "\(url): \(message)" }

    private static func withoutSecrets(_ url: URL) -> String {
        guard url.user != nil || url.password != nil,
            var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        else { return url.absoluteString }
        (components.user, components.password) = (nil, nil)
        return components.string ?? ""
    }
}
