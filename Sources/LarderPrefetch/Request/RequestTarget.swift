import Foundation
import LarderCache
import LarderCore
import LarderHTTP

/// The URL of a request: the given URL, or the target of the last redirect.
struct RequestTarget: Sendable {
    private static let maximumRedirects = 10
    private static let maximumCookieBytes = 16 << 10
    private(set) var url: HTTPURL
    private(set) var redirects = 0
    private(set) var redirectsFreshUntil: Date?
    /// The last redirect's cookies. Some servers set a cookie and redirect to the same URL.
    private(set) var cookies: [String] = []
    let first: HTTPURL

    init(_ url: HTTPURL) { (self.url, first) = (url, url) }

    /// Whether the request goes to the origin of the given URL, and may carry its credentials.
    var isAtOwnOrigin: Bool { redirects == 0 || url.hasOrigin(of: first) }

    /// Returns the stale resource if it came from this URL. A 304 from another URL proves nothing.
    func asked(about known: Resource?) -> Resource? {
        known?.responseURL == url.string ? known : nil
    }

    mutating func follow(
        _ location: String, freshUntil: Date, cookies: [String] = [], allowsDowngrade: Bool
    ) throws(ResourceFailure) {
        guard redirects < Self.maximumRedirects else {
            throw ResourceFailure(.redirects, "more than \(Self.maximumRedirects) redirects")
        }
        let next: HTTPURL
        do throws(HTTPURL.ParseError) {
            next = try HTTPURL(location, relativeTo: url)
        } catch {
            let reason =
                switch error {
                case .unsupportedScheme(let scheme): "to the scheme \(scheme)"
                case .relativeWithoutBase: "to a relative URL"
                case .malformed(let why): "to an invalid URL (\(why))"
                }
            throw ResourceFailure(.badRedirect, "redirected \(reason)")
        }
        if url.scheme == .https, next.scheme == .http, !allowsDowngrade {
            let place = next.description.maskingQuery
            throw ResourceFailure(
                .badRedirect,
                "redirected from https to http: \(place); --allow-downgrade permits such redirects")
        }
        url = next
        redirects += 1
        // Limited, because each waiting fetch keeps its cookies in memory. libcurl sends at most
        // 8,190 bytes of them.
        var room = Self.maximumCookieBytes
        self.cookies = cookies.filter { cookie in
            let fits = cookie.utf8.count <= room
            if fits { room -= cookie.utf8.count }
            return fits
        }
        redirectsFreshUntil = min(freshUntil, redirectsFreshUntil ?? freshUntil)
    }
}

extension Freshness {
    /// Temporary redirects (302, 303, 307) need an explicit lifetime (RFC 9110, section 15.1).
    static func expiry(ofRedirect head: ResponseHead, receivedAt: Date = Date()) -> Date {
        let validators = Validators(head.headers.all)
        let isPermanent = [301, 308].contains(head.status)
        let isExplicit =
            CacheControl(validators.cacheControl).maxAge != nil || validators.expires != nil
        return isPermanent || isExplicit
            ? expiry(of: validators, receivedAt: receivedAt) : receivedAt
    }
}
