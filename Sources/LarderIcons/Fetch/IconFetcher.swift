import Foundation

/// Fetches icons for an ``IconLoader``, which limits their number and chooses the order.
///
/// LarderPrefetch has one with libcurl (`TransferFetcher`), Apple's platforms have
/// `URLSessionFetcher`. An app may have its own.
public protocol IconFetcher: Sendable {
    /// Fetches one icon.
    ///
    /// If nobody waits for the icon any more, the task is cancelled: end as soon as you can.
    /// Whatever is returned is shown and stored, so check that it is the icon, and not a server's
    /// error page.
    ///
    /// - Throws: anything. It is shown as an ``IconFailure``, and remembered for a time. Throw an
    ///   `IconFailure` yourself to say for how long at least.
    func fetch(_ request: IconRequest) async throws -> FetchedIcon
}

/// One icon that an ``IconFetcher`` is to get. Its priority may change while it is under way.
public final class IconRequest: @unchecked Sendable {
    // Unchecked because there are variables: every access holds `lock`.
    private let lock = NSLock()
    private var current: IconPriority
    private var onChange: (@Sendable (IconPriority) -> Void)?

    /// What is to be fetched.
    public let url: URL

    /// A request for `url`.
    public init(url: URL, priority: IconPriority = .normal) {
        self.url = url
        current = priority
    }

    /// The highest priority of those who wait for it.
    public var priority: IconPriority { lock.withLock { current } }

    /// Calls `body`, in place of an earlier one, with each new priority, on any thread. Two changes
    /// may come at once: ``priority`` is the last one. The request keeps `body`.
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

/// An icon as its server sent it.
public struct FetchedIcon: Sendable {
    /// The whole body, decoded.
    public var data: Data
    /// The media type by content, such as `image/png`; nil if it is not known.
    public var mediaType: String?
    /// The response's header fields: `ETag`, `Cache-Control` and others are stored with it.
    public var headers: [(name: String, value: String)]
    /// Where redirects have led; nil if there were none.
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

/// How soon an icon is wanted. Of two icons with one priority, the first comes first.
public enum IconPriority: Int, Sendable, Comparable, CaseIterable {
    case veryLow
    /// Rows ahead, see ``IconLoader/prefetch(_:)``.
    case low
    case normal
    case high
    /// Rows that a person looks at.
    case veryHigh

    /// Whether an icon of the one is got after one of the other.
    public static func < (left: IconPriority, right: IconPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}

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
