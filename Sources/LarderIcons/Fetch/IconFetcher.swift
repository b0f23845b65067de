import Foundation
import LarderCore

/// A network client for an ``IconLoader``: `URLSessionFetcher` on Apple's platforms, or
/// `TransferFetcher` in LarderPrefetch.
public protocol IconFetcher: Sendable {
    /// Fetches one icon. The task is cancelled when no caller waits for the icon. The result is
    /// shown and stored, so check that it is not an error page.
    ///
    /// - Throws: Any error, which the loader remembers for the longer of
    ///   ``IconLoader/Options/failureLifetime`` and ``IconFailure/retryAfter``.
    func fetch(_ request: IconRequest) async throws -> FetchedIcon
}

/// A request to an ``IconFetcher``. Its priority can change during the fetch.
public final class IconRequest: @unchecked Sendable {
    // Unchecked because `lock` guards the variables.
    private let lock = NSLock()
    private var current: IconPriority
    private var onChange: (@Sendable (IconPriority) -> Void)?

    /// The icon's URL.
    public let url: URL

    /// Creates a request.
    public init(url: URL, priority: IconPriority = .normal) {
        (self.url, current) = (url, priority)
    }

    /// The highest priority of the waiting callers.
    public var priority: IconPriority { lock.withLock { current } }

    /// Replaces the function that receives each new priority.
    ///
    /// The request retains `body`, and calls it on any thread, possibly concurrently. Read
    /// ``priority`` for the latest value.
    public func onPriorityChange(_ body: @escaping @Sendable (IconPriority) -> Void) {
        lock.withLock { onChange = body }
    }

    func change(to priority: IconPriority) -> Bool {
        lock.withLock {
            defer { current = priority }
            return current != priority
        }
    }

    func notify() {
        let (priority, body) = lock.withLock { (current, onChange) }
        body?(priority)
    }
}

/// An icon and its response.
public struct FetchedIcon: Sendable {
    /// The complete body, after decoding any content encoding.
    public var data: Data
    /// The media type of the content, for example `image/png`; nil if unknown.
    public var mediaType: String?
    /// The header fields of the response. `ETag`, `Cache-Control` and some others are stored.
    public var headers: [(name: String, value: String)]
    /// The URL after redirects; nil if there were none.
    public var responseURL: String?

    /// Creates a fetched icon.
    public init(
        data: Data, mediaType: String? = nil, headers: [(name: String, value: String)] = [],
        responseURL: String? = nil
    ) {
        (self.data, self.mediaType, self.headers) = (data, mediaType, headers)
        self.responseURL = responseURL
    }

    func values(of name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }
}

/// The priority of an icon. Icons with the same priority are loaded in request order.
public enum IconPriority: Int, Sendable, Comparable, CaseIterable {
    case veryLow
    /// The priority of icons that ``IconLoader/prefetch(_:)`` loads.
    case low
    /// The default priority.
    case normal
    case high
    /// The priority for visible rows.
    case veryHigh

    /// Whether `left` is the lower priority.
    public static func < (left: IconPriority, right: IconPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// A failure to load an icon.
public struct IconFailure: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable {
        /// The icon is not cached, and the loader has no fetcher.
        case notCached = "not-cached"
        /// The bytes cannot be read or decoded.
        case unreadable
        /// The fetch failed.
        case fetch
        /// The loader was released.
        case cancelled
    }

    /// The kind of failure.
    public let code: Code
    /// The icon's URL, without credentials.
    public let url: String
    /// The reason as text.
    public let message: String
    /// The error of the cache or the fetcher, if any.
    public let underlying: (any Error)?
    /// The minimum time until the URL is fetched again, in seconds; nil if only
    /// ``IconLoader/Options/failureLifetime`` applies.
    public let retryAfter: TimeInterval?

    /// Creates a failure of the icon at `url`.
    public init(
        _ code: Code, url: URL, _ message: String, underlying: (any Error)? = nil,
        retryAfter: TimeInterval? = nil
    ) {
        // Without userinfo, an at sign belongs to the path.
        let hasUserinfo = url.user != nil || url.password != nil
        let text = url.absoluteString
        (self.code, self.url) = (code, hasUserinfo ? text.removingUserinfo : text)
        (self.message, self.underlying, self.retryAfter) = (message, underlying, retryAfter)
    }

    /// The URL and the message.
    public var description: String { "\(url): \(message)" }
}
