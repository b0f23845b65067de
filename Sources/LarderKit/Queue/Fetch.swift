import Foundation
import LarderCache
import LarderTransfer

/// A planned fetch under way: which attempt it is in, and where redirects have led it.
///
/// A value that travels from one operation to the next; each operation is one request.
struct Fetch: Sendable {
    private(set) var planned: PlannedFetch
    /// Where the next request goes.
    var target: RequestTarget
    /// Requests that were started over, this one included; redirects do not count.
    private(set) var attempt = 1
    /// Why the last attempt failed.
    private(set) var lastFailure: FetchFailure?
    /// Attempts that were begun before the next request is made.
    var attemptsBegun: Int { target.redirects == 0 ? attempt - 1 : attempt }
    private var isUnconditional = false
    /// What the cache has, if its origin is to be asked whether it changed.
    private var known: Resource? { isUnconditional ? nil : planned.known }
    /// The same if the next request goes to the URL that its validators came from: another's 304
    /// would not vouch for it.
    var askedAbout: Resource? { known?.responseURL == target.url.string ? known : nil }
    let start: ContinuousClock.Instant

    init(_ planned: PlannedFetch, url: HTTPURL) {
        self.planned = planned
        target = RequestTarget(url)
        start = .now
    }

    /// The same fetch from its beginning.
    func again(from url: HTTPURL, after failure: FetchFailure) -> Fetch {
        var next = self
        next.target = RequestTarget(url)
        next.attempt += 1
        next.lastFailure = failure
        if failure.asksUnconditionally { next.isUnconditional = true }
        return next
    }

    /// The same fetch with another priority.
    func with(priority: Int) -> Fetch {
        var next = self
        next.planned = planned.with(priority: priority)
        return next
    }

    var elapsed: Double { (ContinuousClock.now - start) / .seconds(1) }
}
