import Foundation
import LarderTransfer

/// Where a request goes: at first the URL that was named, then where redirects lead.
struct RequestTarget: Sendable {
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

    /// Where a redirect leads from here.
    ///
    /// - Parameters:
    ///   - freshUntil: until when that redirect may be used without asking again.
    ///   - allowsDowngrade: whether https may lead to http.
    func redirected(
        to location: String, freshUntil: Date, allowsDowngrade: Bool
    ) -> Result<RequestTarget, FetchFailure> {
        Redirect.target(
            of: location, from: url, after: redirects, allowsDowngrade: allowsDowngrade
        ).map { url in
            var next = self
            next.url = url
            next.redirects += 1
            next.redirectsFreshUntil = min(freshUntil, redirectsFreshUntil ?? freshUntil)
            return next
        }
    }
}
