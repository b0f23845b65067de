import HeapModule
import LarderCore

/// The waiting URLs of one origin, read in small pages. A slow origin does not delay others.
final class HostCursor {
    /// With this number of retries and redirected fetches in memory, no planned URL is started.
    private static let waitingLimit = 1024

    let origin: Int
    let limit: HostLimits.Limit
    /// The number of fetches in ``HostSchedule/delayed``.
    var waiting = 0
    /// The number of redirected fetches that wait at different origins.
    var sentAway = 0
    /// Includes ``connecting``.
    var inFlight = 0
    var connecting = 0
    /// The priority of the fetch that waits to send a new connection's first request.
    var prepared: Int?
    var lastUse = 0
    var version = 0
    var taken = 0
    /// An estimate, because ``taken`` counts a fetch again if it was put back.
    var remaining: Int { max(0, planned - taken) }
    private(set) var heldUntil: ContinuousClock.Instant?
    var nextStart: ContinuousClock.Instant?
    var notBefore: ContinuousClock.Instant? {
        guard let heldUntil, let nextStart else { return heldUntil ?? nextStart }
        return max(heldUntil, nextStart)
    }
    private(set) var isSilent = false
    /// Whether the origin answered the last request without requesting a delay.
    private(set) var isAnswering = false
    private(set) var failure: ResourceFailure?
    private var troubleBegan: ContinuousClock.Instant?
    /// Retries, and redirects from other origins. They precede planned URLs of the same priority.
    private var returned = Heap<Returned>()
    private var page: ArraySlice<PlannedResource> = []
    private var place: PlannedResource.Place?
    private let planned: Int
    private var isExhausted: Bool
    private let pageSize: Int

    init(origin: Int, limit: HostLimits.Limit, planned: Int, pageSize: Int) {
        (self.origin, self.limit, self.pageSize) = (origin, limit, pageSize)
        (self.planned, isExhausted) = (planned, planned == 0)
    }

    private struct Returned: Comparable {
        let fetch: Attempt
        private var place: PlannedResource.Place { fetch.planned.place }
        static func == (left: Returned, right: Returned) -> Bool { left.place == right.place }
        static func < (left: Returned, right: Returned) -> Bool { left.place < right.place }
    }

    typealias Source = (Int, PlannedResource.Place?, Int) throws -> [PlannedResource]

    /// Records a result. Gives up on the origin if it stays silent for longer than `patience`, or
    /// asks for delays that are longer, alone or in total, so that the run ends.
    func note(_ sign: HostSign, patience: Duration) {
        let now = ContinuousClock.now
        switch sign {
        case .none: break
        case .answered: (isSilent, isAnswering, troubleBegan) = (false, true, nil)
        case .silent:
            (isSilent, isAnswering) = (true, false)
            let began = troubleBegan ?? now
            troubleBegan = began
            if now - began > patience { giveUp("has not answered for \(text(now - began))") }
        case .held(let delay, let since, let status):
            (isSilent, isAnswering) = (false, false)
            let (began, until) = (troubleBegan ?? since, since + delay)
            troubleBegan = began
            heldUntil = max(until, heldUntil ?? until)
            let total = until - began
            guard max(delay, total) > patience else { break }
            let wait = delay > patience ? text(delay) : "\(text(total)) in total"
            giveUp(
                "answered with status \(status) and requested a delay of \(wait) (Retry-After)",
                status)
        }

        func text(_ duration: Duration) -> String { DurationText.describe(duration / .seconds(1)) }
    }

    private func giveUp(_ reason: String, _ status: Int? = nil) {
        failure = ResourceFailure(
            .hostUnavailable, "the host \(reason), which is longer than --retry-max-time",
            status: status)
    }

    func head(from source: Source) throws -> PlannedResource? {
        if page.isEmpty, !isExhausted {
            page = try source(origin, place, pageSize)[...]
            isExhausted = page.isEmpty
        }
        if isReturnedFirst { return returned.min?.fetch.planned }
        return isFull ? nil : page.first
    }

    /// Removes the first fetch. Must be called directly after ``head(from:)`` returns it.
    func removeHead() throws -> Attempt {
        taken += 1
        if isReturnedFirst { return returned.removeMin().fetch }
        let planned = page.removeFirst()
        place = planned.place
        return Attempt(planned, url: try planned.target)
    }

    /// Whether no URL of a planned origin remains. Must be read directly after ``head(from:)``.
    var isLast: Bool {
        planned > 0 && isExhausted && page.isEmpty && returned.isEmpty && waiting == 0
    }

    func forgetPage() { page = [] }

    func isDone(at now: ContinuousClock.Instant) -> Bool {
        isExhausted && page.isEmpty && returned.isEmpty && waiting == 0 && sentAway == 0
            && inFlight == 0 && !isSilent && troubleBegan == nil && failure == nil
            && notBefore.map { $0 <= now } ?? true
    }

    func put(back fetch: Attempt) { returned.insert(Returned(fetch: fetch)) }

    private var isReturnedFirst: Bool {
        guard let fetch = returned.min?.fetch else { return false }
        if isFull { return true }
        return page.first.map { fetch.planned.priority >= $0.priority } ?? true
    }

    var isFull: Bool { failure == nil && waiting + sentAway >= Self.waitingLimit }
}

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
