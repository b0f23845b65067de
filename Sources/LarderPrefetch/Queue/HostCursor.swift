import HeapModule
import LarderCore

/// The waiting URLs of one origin (scheme, host and port), read from the plan in small pages. With
/// a cursor for each origin, a slow origin at the head of the manifest does not delay others.
final class HostCursor {
    /// With this many failed attempts waiting for their time, or fetches where redirects led to, no
    /// planned URL starts, since all of these are in memory.
    private static let mostWaiting = 1024

    let origin: Int
    let limit: HostLimits.Limit
    /// Its fetches in the schedule's ``HostSchedule/delayed``.
    var waiting = 0
    /// Fetches that redirects led to other origins, where they wait.
    var sentAway = 0
    /// Fetches that were started, connecting ones included.
    var inFlight = 0
    /// Fetches that only connect.
    var connecting = 0
    /// The priority of the fetch that the host's new connection waits for; nil without such a
    /// connection.
    var prepared: Int?
    /// The schedule's serial number at its last request.
    var lastUse = 0
    /// Entries of the schedule with another version are outdated.
    var version = 0
    private(set) var taken = 0
    /// URLs of the plan that were not taken out yet; those that came back count as others.
    var remaining: Int { max(0, planned - taken) }
    private(set) var heldUntil: ContinuousClock.Instant?
    /// The rate limit allows nothing before this instant.
    var nextStart: ContinuousClock.Instant?
    var notBefore: ContinuousClock.Instant? { [heldUntil, nextStart].compactMap(\.self).max() }
    private(set) var isSilent = false
    /// Whether the last request was answered, without a request to wait.
    private(set) var isAnswering = false
    private(set) var failure: ResourceFailure?
    private var troubleBegan: ContinuousClock.Instant?
    /// Further attempts, and redirects that lead here. They precede planned ones of equal priority.
    private var returned = Heap<Returned>()
    private var page: ArraySlice<PlannedResource> = []
    /// The place of the last resource taken from the page.
    private var place: PlannedResource.Place?
    private let planned: Int
    private var isExhausted: Bool
    private let pageSize: Int

    init(origin: Int, limit: HostLimits.Limit, planned: Int, pageSize: Int) {
        self.origin = origin
        self.limit = limit
        self.pageSize = pageSize
        self.planned = planned
        isExhausted = planned == 0
    }

    private struct Returned: Comparable {
        let fetch: Attempt
        private var place: PlannedResource.Place { fetch.planned.place }
        static func == (left: Returned, right: Returned) -> Bool { left.place == right.place }
        static func < (left: Returned, right: Returned) -> Bool { left.place < right.place }
    }

    /// Reads the next planned resources of an origin, after a place and up to a number.
    typealias Source = (Int, PlannedResource.Place?, Int) throws -> [PlannedResource]

    /// Notes a request's result, and gives the origin up if it has been in trouble, or asks to
    /// wait, for longer than `patience`: a run must end.
    func note(_ sign: HostSign, patience: Duration) {
        let now = ContinuousClock.now
        switch sign {
        case .none: break
        case .answered: (isSilent, isAnswering, troubleBegan) = (false, true, nil)
        case .silent:
            (isSilent, isAnswering) = (true, false)
            let began = troubleBegan ?? now
            troubleBegan = began
            if now - began > patience { giveUp("does not answer, for \(text(now - began)) now") }
        case .held(let delay, let since, let status):
            (isSilent, isAnswering) = (false, false)
            let (began, until) = (troubleBegan ?? since, since + delay)
            troubleBegan = began
            heldUntil = max(until, heldUntil ?? until)
            if delay > patience {
                giveUp("asks to be left alone for \(text(delay)) (Retry-After)", status)
            } else if until - began > patience {
                giveUp(
                    "has asked to be left alone for \(text(until - began)) (Retry-After)", status)
            }
        }

        func text(_ duration: Duration) -> String { DurationText.describe(duration / .seconds(1)) }
    }

    private func giveUp(_ reason: String, _ status: Int? = nil) {
        guard failure == nil else { return }
        failure = ResourceFailure(
            code: ResourceFailure.Reason.hostUnavailable.rawValue,
            message: "the host "
                + (status.map { "answered with status \($0) and " } ?? "")
                + "\(reason), longer than --retry-max-time allows",
            isTransient: false, status: status)
    }

    /// Returns the resource of the next fetch without removing it, or nil.
    func head(from source: Source) throws -> PlannedResource? {
        if page.isEmpty, !isExhausted {
            page = try source(origin, place, pageSize)[...]
            isExhausted = page.isEmpty
        }
        if isReturnedFirst { return returned.min?.fetch.planned }
        return isFull ? nil : page.first
    }

    /// Removes the next fetch, right after a look for the ``head(from:)``, which there must be.
    func removeHead() throws -> Attempt {
        taken += 1
        if isReturnedFirst { return returned.removeMin().fetch }
        let planned = page.removeFirst()
        place = planned.place
        return Attempt(planned, url: try planned.target)
    }

    /// A fetch that has only connected has not been taken.
    func untake() { taken -= 1 }

    /// Whether nothing of the origin is left. Unknown for an origin that only redirects lead to.
    /// Must directly follow ``head(from:)``.
    var isLast: Bool {
        planned > 0 && isExhausted && page.isEmpty && returned.isEmpty && waiting == 0
    }

    /// Discards the page, which is read again later.
    func forgetPage() { page = [] }

    var isDone: Bool {
        isExhausted && page.isEmpty && returned.isEmpty && waiting == 0 && sentAway == 0
            && inFlight == 0 && !isSilent && troubleBegan == nil && failure == nil
            && notBefore.map { $0 <= .now } ?? true
    }

    func put(back fetch: Attempt) { returned.insert(Returned(fetch: fetch)) }

    private var isReturnedFirst: Bool {
        guard let fetch = returned.min?.fetch else { return false }
        if isFull { return true }
        return page.first.map { fetch.planned.priority >= $0.priority } ?? true
    }

    var isFull: Bool { failure == nil && waiting + sentAway >= Self.mostWaiting }
}

/// An origin that can start a fetch. Origins are served in this order.
struct ReadyHost: Comparable {
    let cursor: Int
    let version: Int
    let isSilent: Bool
    let isBehind: Bool
    let inFlight: Int
    let turns: Int
    let isOpen: Bool
    let lastUse: Int
    let place: PlannedResource.Place

    var priority: Int { ~place.turn }

    static func < (left: ReadyHost, right: ReadyHost) -> Bool {
        if left.place.turn != right.place.turn { return left.place.turn < right.place.turn }
        if left.isSilent != right.isSilent { return right.isSilent }
        if left.isBehind != right.isBehind { return left.isBehind }
        if left.inFlight != right.inFlight { return left.inFlight < right.inFlight }
        if left.turns != right.turns { return left.turns < right.turns }
        if left.isOpen != right.isOpen { return left.isOpen }
        if left.isOpen, left.lastUse != right.lastUse { return left.lastUse > right.lastUse }
        return left.place < right.place
    }
}
