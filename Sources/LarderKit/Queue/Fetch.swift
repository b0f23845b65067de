import Foundation
import LarderCache
import LarderTransfer

/// A planned fetch under way: which attempt it is in, and where redirects have led it.
///
/// A value that travels from one operation to the next; each operation is one request.
struct Fetch: Sendable {
    let planned: PlannedFetch
    /// Where the next request goes.
    private(set) var url: HTTPURL
    /// Requests that were started over, this one included; redirects do not count.
    private(set) var attempt = 1
    private(set) var redirects = 0
    /// Until when the redirects that were followed may be used without asking again; nil: none was.
    private(set) var redirectsFreshUntil: Date?
    /// Why the last attempt failed.
    private(set) var lastFailure: FetchFailure?
    /// Attempts that were begun before the next request is made.
    var attemptsBegun: Int { redirects == 0 ? attempt - 1 : attempt }
    /// Scheme, host and port of the URL that the manifest names.
    private let ownOrigin: String
    private var isUnconditional = false
    /// What the cache has, if its origin is to be asked whether it changed.
    private var known: Resource? { isUnconditional ? nil : planned.known }
    /// The same where the next request goes to the URL that its validators came from: another's 304
    /// would not vouch for it.
    var askedAbout: Resource? { known?.responseURL == url.string ? known : nil }
    let start: ContinuousClock.Instant

    init(_ planned: PlannedFetch, url: HTTPURL) {
        self.planned = planned
        self.url = url
        ownOrigin = url.origin
        start = .now
    }

    /// Whether the next request goes to the origin that the manifest names, so that what is meant for
    /// that one may go with it.
    var isAtOwnOrigin: Bool { url.origin == ownOrigin }

    /// The same fetch, to be asked for at the place that a redirect named.
    ///
    /// - Parameters:
    ///   - freshUntil: until when that redirect may be used without asking again.
    ///   - allowsDowngrade: whether https may lead to http.
    func redirected(
        to location: String, freshUntil: Date, allowsDowngrade: Bool
    ) -> Result<Fetch, FetchFailure> {
        Redirect.target(
            of: location, from: url, after: redirects, allowsDowngrade: allowsDowngrade
        ).map { target in
            var next = self
            next.url = target
            next.redirects += 1
            next.redirectsFreshUntil = min(freshUntil, redirectsFreshUntil ?? freshUntil)
            return next
        }
    }

    /// The same fetch from its beginning.
    func again(from url: HTTPURL, after failure: FetchFailure) -> Fetch {
        var next = self
        next.url = url
        next.redirects = 0
        next.redirectsFreshUntil = nil
        next.attempt += 1
        next.lastFailure = failure
        if failure.asksUnconditionally { next.isUnconditional = true }
        return next
    }

    var elapsed: Double { (ContinuousClock.now - start) / .seconds(1) }
}
