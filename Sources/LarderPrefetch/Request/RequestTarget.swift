import Foundation
import LarderCache
import LarderCore
import LarderHTTP

/// Where a request goes: at first the URL that was named, then where redirects lead.
struct RequestTarget: Sendable {
    /// More redirects than these are a loop.
    private static let mostRedirects = 10

    /// Where the next request goes.
    private(set) var url: HTTPURL
    /// How many redirects have led there.
    private(set) var redirects = 0
    /// Until when those redirects may be used without asking again; nil: there were none.
    private(set) var redirectsFreshUntil: Date?
    /// Scheme, host and port of the URL that was named.
    let ownOrigin: String

    init(_ url: HTTPURL) {
        self.url = url
        ownOrigin = url.origin
    }

    /// Whether the request goes to the origin that was named, so that what is meant for that one
    /// may go with it.
    var isAtOwnOrigin: Bool { url.origin == ownOrigin }

    /// Goes where a redirect leads, if it may.
    ///
    /// - Parameters:
    ///   - location: as the response to a request for ``url`` has it.
    ///   - freshUntil: until when that redirect may be used without asking again.
    ///   - allowsDowngrade: whether https may lead to http.
    mutating func follow(
        _ location: String, freshUntil: Date, allowsDowngrade: Bool
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
        redirectsFreshUntil = min(freshUntil, redirectsFreshUntil ?? freshUntil)
    }
}

extension Freshness {
    /// Until when a redirect may be used without asking again. One that may change at any time
    /// (302, 303, 307) is used again only if it says for how long (RFC 9110, section 15.1).
    static func expiry(ofRedirect head: ResponseHead, receivedAt: Date = Date()) -> Date {
        let validators = Validators(head.headers.all)
        let isPermanent = [301, 308].contains(head.status)
        let isExplicit =
            CacheControl(validators.cacheControl).maxAge != nil || validators.expires != nil
        return isPermanent || isExplicit
            ? expiry(of: validators, receivedAt: receivedAt) : receivedAt
    }
}
