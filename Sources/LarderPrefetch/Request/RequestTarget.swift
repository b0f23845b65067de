import Foundation
import LarderCache
import LarderCore
import LarderHTTP

/// The URL of a request: first the given one, then those of redirects.
struct RequestTarget: Sendable {
    private static let mostRedirects = 10
    private static let mostCookieBytes = 16 << 10

    private(set) var url: HTTPURL
    private(set) var redirects = 0
    /// Until when those redirects are fresh; nil without one.
    private(set) var redirectsFreshUntil: Date?
    /// The cookies of those redirects, for this chain only: some servers set one and redirect to
    /// the same URL.
    private(set) var cookies: [String] = []
    let first: HTTPURL
    var ownOrigin: String { first.origin }

    init(_ url: HTTPURL) {
        self.url = url
        first = url
    }

    /// Whether the request goes to the given URL's origin, and may carry its credentials.
    var isAtOwnOrigin: Bool { redirects == 0 || url.hasOrigin(of: first) }

    /// Returns the stale resource, if the next request goes to the URL that its validators came
    /// from: another URL's 304 would not vouch for it.
    func asked(about known: Resource?) -> Resource? {
        known?.responseURL == url.string ? known : nil
    }

    mutating func follow(
        _ location: String, freshUntil: Date, cookies: [String] = [], allowsDowngrade: Bool
    ) throws(ResourceFailure) {
        guard redirects < Self.mostRedirects else {
            throw ResourceFailure(.redirects, "more than \(Self.mostRedirects) redirects")
        }
        let next: HTTPURL
        do throws(HTTPURL.ParseError) {
            next = try HTTPURL(location, relativeTo: url)
        } catch {
            let reason =
                switch error {
                case .unsupportedScheme(let scheme): "to the scheme \(scheme)"
                case .relativeWithoutBase: "to nowhere"
                case .malformed(let why): "to what is not a URL (\(why))"
                }
            throw ResourceFailure(.badRedirect, "redirected \(reason)")
        }
        if url.scheme == .https, next.scheme == .http, !allowsDowngrade {
            throw ResourceFailure(
                .badRedirect,
                """
                redirected from https to http: \(next.description.maskingQuery); \
                --allow-downgrade permits it
                """)
        }
        url = next
        redirects += 1
        // Waiting fetches are in memory. libcurl sends at most 8,190 bytes.
        let bytes = cookies.reduce(0) { $0 + $1.utf8.count }
        self.cookies = bytes <= Self.mostCookieBytes ? cookies : []
        redirectsFreshUntil = min(freshUntil, redirectsFreshUntil ?? freshUntil)
    }
}

extension Freshness {
    /// Returns until when a redirect is fresh. A temporary one (302, 303, 307) is fresh only if it
    /// says for how long (RFC 9110, section 15.1).
    static func expiry(ofRedirect head: ResponseHead, receivedAt: Date = Date()) -> Date {
        let validators = Validators(head.headers.all)
        let isPermanent = [301, 308].contains(head.status)
        let isExplicit =
            CacheControl(validators.cacheControl).maxAge != nil || validators.expires != nil
        return isPermanent || isExplicit
            ? expiry(of: validators, receivedAt: receivedAt) : receivedAt
    }
}
