import HeapModule
import LarderCache
import LarderCore

/// The URLs of one origin (scheme, host and port) that wait for their turn, read from the plan a
/// few at a time.
///
/// One for each origin, so that a slow or waiting one at the head of the manifest holds up nobody.
struct HostCursor {
    /// So many URLs may wait for another attempt, or at origins that redirects led to, before no
    /// other one of the origin has its first: all of them are in memory.
    private static let mostWaiting = 1024

    let origin: Int
    let limit: HostLimits.Limit
    /// Fetches that wait for the time of another attempt.
    var waiting = 0
    /// Fetches that wait at other origins, to which redirects of this one's led.
    var sentAway = 0
    /// Operations between their place in the queue and the end of their transfer.
    var inFlight = 0
    /// When its last request was taken out, by the schedule's own count.
    var lastUse = 0
    /// What the schedule says of it is out of date if that has another.
    var version = 0
    /// Fetches that were taken out.
    private(set) var taken = 0
    /// URLs of the plan that were not taken out yet; those that came back count as others.
    var remaining: Int { max(0, planned - taken) }
    /// The origin asked to be left alone until this instant.
    private(set) var heldUntil: ContinuousClock.Instant?
    /// The limit of requests a second lets nothing begin before this instant.
    var nextStart: ContinuousClock.Instant?
    /// Nothing may begin before this instant.
    var notBefore: ContinuousClock.Instant? {
        [heldUntil, nextStart].compactMap(\.self).max()
    }
    /// Whether the last request got no answer at all.
    private(set) var isSilent = false
    /// Whether the last request got one, and not that the origin wants to be left alone.
    private(set) var isAnswering = false
    /// Why nothing is to be asked of the origin any more.
    private(set) var failure: ResourceFailure?
    /// Since when no request has had an answer that was of use.
    private var troubleBegan: ContinuousClock.Instant?
    /// Fetches that begin again: attempts, and redirects that lead here. Among planned ones of
    /// their own priority they go first.
    private var returned = Heap<Returned>()
    private var page: ArraySlice<PlannedResource> = []
    /// Of the planned fetch that was taken from the page last.
    private var place: PlannedResource.Place?
    private let planned: Int
    private var isExhausted: Bool
    private let pageSize: Int

    /// - Parameters:
    ///   - limit: how much may be asked of it.
    ///   - planned: how many URLs of this origin the plan has; redirects may lead to others.
    ///   - pageSize: how many planned fetches are read at once.
    init(origin: Int, limit: HostLimits.Limit, planned: Int, pageSize: Int) {
        self.origin = origin
        self.limit = limit
        self.pageSize = pageSize
        self.planned = planned
        isExhausted = planned == 0
    }

    /// By priority, then in the order of the manifests.
    private struct Returned: Comparable {
        let fetch: Attempt
        private var place: PlannedResource.Place { fetch.planned.place }

        static func == (left: Returned, right: Returned) -> Bool { left.place == right.place }
        static func < (left: Returned, right: Returned) -> Bool { left.place < right.place }
    }

    enum Head {
        case planned(PlannedResource)
        case returned(Attempt)

        var planned: PlannedResource {
            switch self {
            case .planned(let planned): planned
            case .returned(let fetch): fetch.planned
            }
        }
    }

    /// Takes note of how the origin took a request, and gives it up if it has been in trouble,
    /// or asks to be left alone, for longer than `patience`: a run must come to its end.
    mutating func note(_ sign: HostSign, patience: Duration) {
        let now = ContinuousClock.now
        switch sign {
        case .none: break
        case .answered:
            (isSilent, isAnswering, troubleBegan) = (false, true, nil)
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

    private mutating func giveUp(_ reason: String, _ status: Int? = nil) {
        guard failure == nil else { return }
        failure = ResourceFailure(
            code: ResourceFailure.Reason.hostUnavailable.rawValue,
            message: "the host "
                + (status.map { "answered with status \($0) and " } ?? "")
                + "\(reason), longer than --retry-max-time allows",
            isTransient: false, status: status)
    }

    /// The next fetch, left where it is; nil if none waits.
    mutating func head(from source: FetchSource) throws -> Head? {
        if page.isEmpty, !isExhausted {
            page = try source.page(ofOrigin: origin, after: place, limit: pageSize)[...]
            isExhausted = page.isEmpty
        }
        if let fetch = returned.min?.fetch, isReturnedFirst { return .returned(fetch) }
        return isFull ? nil : page.first.map(Head.planned)
    }

    /// Right after a look for the ``head(from:)``.
    mutating func removeHead() {
        if isReturnedFirst {
            returned.removeMin()
        } else {
            place = page.removeFirst().place
        }
        taken += 1
    }

    /// Whether nothing of the origin's is left to ask for; of one that only redirects lead to
    /// nobody knows. Right after a look for the ``head(from:)``.
    var isLast: Bool {
        planned > 0 && isExhausted && page.isEmpty && returned.isEmpty && waiting == 0
    }

    /// Lets go of the planned fetches that were read ahead; they are read again.
    mutating func forgetPage() { page = [] }

    /// Whether nothing is left of it, neither to ask for nor to remember.
    var isDone: Bool {
        isExhausted && page.isEmpty && returned.isEmpty && waiting == 0 && sentAway == 0
            && inFlight == 0
            && !isSilent && troubleBegan == nil && failure == nil
            && notBefore.map { $0 <= .now } ?? true
    }

    mutating func put(back fetch: Attempt) {
        returned.insert(Returned(fetch: fetch))
    }

    private var isReturnedFirst: Bool {
        guard let fetch = returned.min?.fetch else { return false }
        if isFull { return true }
        return page.first.map { fetch.planned.priority >= $0.priority } ?? true
    }

    private var isFull: Bool { failure == nil && waiting + sentAway >= Self.mostWaiting }
}

/// An origin that can start a fetch, in the order in which origins are to be served.
struct ReadyHost: Comparable {
    let cursor: Int
    /// Out of date if the cursor has a newer one.
    let version: Int
    let isSilent: Bool
    let isBehind: Bool
    let inFlight: Int
    let turns: Int
    let isOpen: Bool
    /// Of its last request, in the order of requests.
    let lastUse: Int
    let place: PlannedResource.Place

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

/// The source of a schedule's fetches: the plan, and what the cache knows of them.
struct FetchSource {
    let plan: Plan
    let cache: Cache

    /// The next fetches of an origin, in the plan's order.
    func page(
        ofOrigin origin: Int, after place: PlannedResource.Place?, limit: Int
    ) throws -> [PlannedResource] {
        var page = try plan.fetches(ofOrigin: origin, after: place, limit: limit)
        let stale = page.indices.filter { page[$0].status == .stale }
        guard !stale.isEmpty else { return page }
        for (place, known) in zip(stale, try cache.resources(stale.map { page[$0].key })) {
            if let known { page[place] = page[place].about(known) }
        }
        return page
    }
}
