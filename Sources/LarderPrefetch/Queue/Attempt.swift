import Foundation
import LarderCache
import LarderCore

/// An attempt at a planned resource, passed from one operation to the next. Each operation is one
/// request.
struct Attempt: Sendable {
    let planned: PlannedResource
    /// Where the next request goes.
    var target: RequestTarget
    /// The number of this attempt, from 1. Redirects do not count.
    private(set) var attempt = 1
    private(set) var lastFailure: ResourceFailure?
    var attemptsBegun: Int { target.redirects == 0 ? attempt - 1 : attempt }
    private var isUnconditional = false
    private var known: Resource? { isUnconditional ? nil : planned.known }
    /// The stale resource, if the next request goes to the URL that its validators came from:
    /// another URL's 304 would not vouch for it.
    var askedAbout: Resource? { known?.responseURL == target.url.string ? known : nil }
    let start: ContinuousClock.Instant

    init(_ planned: PlannedResource, url: HTTPURL) {
        self.planned = planned
        target = RequestTarget(url)
        start = .now
    }

    /// Returns the next attempt, from the beginning.
    func again(from url: HTTPURL, after failure: ResourceFailure) -> Attempt {
        var next = self
        next.target = RequestTarget(url)
        next.attempt += 1
        next.lastFailure = failure
        if failure.asksUnconditionally { next.isUnconditional = true }
        return next
    }

    var elapsed: Double { (ContinuousClock.now - start) / .seconds(1) }
}

struct QueueLimits: Sendable {
    let concurrent: Int
    let hosts: HostLimits
    let retry: RetryPolicy
    let allowsDowngrade: Bool
    /// Whether later runs do not repeat permanent failures for a while.
    let remembersFailures: Bool
    /// How long an interrupted run lets what is in flight finish.
    let grace: Duration
}
