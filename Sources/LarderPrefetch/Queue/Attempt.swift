import Foundation
import LarderCache
import LarderCore
import LarderHTTP

/// An attempt at a planned resource, passed from one operation (a request) to the next.
struct Attempt: Sendable {
    let planned: PlannedResource
    var target: RequestTarget
    /// The number of this attempt, from 1. Redirects do not count.
    private(set) var attempt = 1
    private(set) var lastFailure: ResourceFailure?
    var attemptsBegun: Int { target.redirects == 0 ? attempt - 1 : attempt }
    private var isUnconditional = false
    var askedAbout: Resource? { isUnconditional ? nil : target.asked(about: planned.known) }
    let start: ContinuousClock.Instant

    init(_ planned: PlannedResource, url: HTTPURL) {
        self.planned = planned
        target = RequestTarget(url)
        start = .now
    }

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
    let remembersFailures: Bool
    let grace: Duration
}
