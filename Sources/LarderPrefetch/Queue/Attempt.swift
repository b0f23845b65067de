import Foundation
import LarderCache
import LarderCore

/// A planned fetch under way: which attempt it is in, and where redirects have led it.
///
/// A value that travels from one operation to the next; each operation is one request.
struct Attempt: Sendable {
    let planned: PlannedResource
    /// Where the next request goes.
    var target: RequestTarget
    /// Requests that were started over, this one included; redirects do not count.
    private(set) var attempt = 1
    /// Why the last attempt failed.
    private(set) var lastFailure: ResourceFailure?
    /// Attempts that were begun before the next request is made.
    var attemptsBegun: Int { target.redirects == 0 ? attempt - 1 : attempt }
    private var isUnconditional = false
    /// What the cache has, if its origin is to be asked whether it changed.
    private var known: Resource? { isUnconditional ? nil : planned.known }
    /// The same if the next request goes to the URL that its validators came from: another's 304
    /// would not vouch for it.
    var askedAbout: Resource? { known?.responseURL == target.url.string ? known : nil }
    let start: ContinuousClock.Instant

    init(_ planned: PlannedResource, url: HTTPURL) {
        self.planned = planned
        target = RequestTarget(url)
        start = .now
    }

    /// The same fetch from its beginning.
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

/// What became of one planned fetch.
struct ResourceResult: Sendable {
    /// How the resource came to its bytes.
    enum Way: Sendable {
        /// From its origin.
        case fetched
        /// They were there, and their origin answered that nothing has changed.
        case revalidated
        /// From the remote.
        case pulled
        /// They are in the remote, and were left there.
        case shared
    }

    /// The bytes that the resource has.
    struct Success: Sendable {
        let digest: Digest
        /// Nil if nobody looked.
        let size: Int64?
        let attributes: ObjectAttributes
        let way: Way
        /// Whether they are in the cache: what its origin forbids to store was only checked.
        let isStored: Bool
    }

    /// Entries whose first icon waits, and icons that wait.
    struct Waiting: Sendable {
        let entries: Int
        let icons: Int

        init?(for fetch: PlannedResource) {
            guard !fetch.hasExpectation else { return nil }
            (entries, icons) = (fetch.entries, fetch.icons)
        }
    }

    let id: Int64
    let result: Result<Success, ResourceFailure>
    /// How many wait for it; nil if one of them demands particular bytes.
    var waiting: Waiting?
    var attempts = 0
    var seconds = 0.0
}

/// Limits of a run.
struct QueueLimits: Sendable {
    let concurrent: Int
    let hosts: HostLimits
    let retry: RetryPolicy
    /// Whether a redirect may lead from https to http.
    let allowsDowngrade: Bool
    /// Whether what failed is left alone by later runs for a while.
    let remembersFailures: Bool
    /// How long an interrupted run lets what is in flight finish.
    let grace: Duration
}

/// How far a queue is.
struct QueueProgress: Sendable {
    /// Fetches that have come to their end, except those that were sent back since.
    var arrived = 0
    /// Requests that have begun and not ended.
    var underWay = 0
    /// Fetches that wait for another attempt.
    var waiting = 0
    /// When the first of them is tried again.
    var nextAttempt: ContinuousClock.Instant?
    /// Body bytes received.
    var receivedBytes: Int64 = 0
}
