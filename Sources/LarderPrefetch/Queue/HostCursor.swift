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
    var remaining: Int { max(0, planned - taken - cancelled) }
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
    private(set) var failure: FetchFailure?
    /// Since when no request has had an answer that was of use.
    private var troubleBegan: ContinuousClock.Instant?
    /// Fetches that begin again: attempts, and redirects that lead here. Among planned ones of
    /// their own priority they go first.
    private var returned = Heap<Returned>()
    private var page: ArraySlice<PlannedFetch> = []
    /// Of the planned fetch that was taken from the page, or passed, last.
    private var place: PlannedFetch.Place?
    /// The new places of planned fetches; some of them are out of date.
    private var moved = Heap<PlannedFetch.Place>()
    private var movedCount = 0
    /// Of those, the one that comes before the page, if one does.
    private var firstMoved: PlannedFetch?
    /// Planned fetches that nobody wants any more.
    private var cancelled = 0
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
        let fetch: Fetch
        private var place: PlannedFetch.Place { fetch.planned.place }

        static func == (left: Returned, right: Returned) -> Bool { left.place == right.place }
        static func < (left: Returned, right: Returned) -> Bool { left.place < right.place }
    }

    enum Head {
        case planned(PlannedFetch)
        case returned(Fetch)

        var planned: PlannedFetch {
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
        failure = FetchFailure(
            code: FetchFailure.Reason.hostUnavailable.rawValue,
            message: "the host "
                + (status.map { "answered with status \($0) and " } ?? "")
                + "\(reason), longer than --retry-max-time allows",
            isTransient: false, status: status)
    }

    /// The next fetch, left where it is; nil if none waits.
    mutating func head(from source: FetchSource) throws -> Head? {
        repeat {
            if page.isEmpty, !isExhausted {
                page = try source.page(ofOrigin: origin, after: place, limit: pageSize)[...]
                isExhausted = page.isEmpty
            }
            while let first = page.first, source.changes.contains(first.id) {
                place = page.removeFirst().place
            }
        } while page.isEmpty && !isExhausted
        if !moved.isEmpty { try findFirstMoved(source) }
        if let fetch = returned.min?.fetch, isReturnedFirst { return .returned(fetch) }
        return isFull ? nil : firstPlanned.map(Head.planned)
    }

    private mutating func findFirstMoved(_ source: FetchSource) throws {
        while let first = moved.min {
            if source.changes.isCurrent(first) {
                if let next = page.first, next.place < first { break }
                if firstMoved?.place != first { firstMoved = try source.fetch(at: first) }
                if firstMoved != nil { return }
                source.changes.takeOut(first.fetch)
                movedCount -= 1
            }
            moved.removeMin()
        }
        firstMoved = nil
    }

    private var firstPlanned: PlannedFetch? { firstMoved ?? page.first }

    /// Right after a look for the ``head(from:)``.
    mutating func removeHead(_ changes: FetchChanges) {
        if isReturnedFirst {
            returned.removeMin()
        } else if let fetch = firstMoved {
            moved.removeMin()
            changes.takeOut(fetch.id)
            movedCount -= 1
            firstMoved = nil
        } else {
            place = page.removeFirst().place
        }
        taken += 1
    }

    /// Whether a planned fetch was neither taken out nor passed.
    func isAhead(_ fetch: PendingFetch) -> Bool {
        planned > 0 && place.map { $0 < fetch.place } ?? true
    }

    /// Has a planned fetch wait at another place than the plan's, or than its last one.
    mutating func move(_ fetch: PendingFetch, to priority: Int, _ changes: FetchChanges) {
        if !changes.isMoved(fetch.id) { movedCount += 1 }
        changes.move(fetch, to: priority)
        moved.insert(PlannedFetch.Place(turn: ~priority, fetch: fetch.id))
        firstMoved = nil
        if moved.count > 2 * movedCount + 64 {
            // Most are out of date, and too far down to be met.
            moved = Heap(Set(moved.unordered).filter(changes.isCurrent))
        }
    }

    /// Has a planned fetch never be handed out.
    mutating func cancel(_ fetch: PendingFetch, _ changes: FetchChanges) {
        if changes.isMoved(fetch.id) { movedCount -= 1 }
        changes.cancel(fetch)
        cancelled += 1
        firstMoved = nil
    }

    /// Lets go of a planned fetch that was reported before its place was passed.
    mutating func forget(planned fetch: Int64) { page.removeAll { $0.id == fetch } }

    /// Whether nothing of the origin's is left to ask for; of one that only redirects lead to
    /// nobody knows. Right after a look for the ``head(from:)``.
    var isLast: Bool {
        planned > 0 && isExhausted && page.isEmpty && moved.isEmpty && returned.isEmpty
            && waiting == 0
    }

    /// Lets go of the planned fetches that were read ahead; they are read again.
    mutating func forgetPage() { (page, firstMoved) = ([], nil) }

    /// Whether nothing is left of it, neither to ask for nor to remember.
    var isDone: Bool {
        isExhausted && page.isEmpty && moved.isEmpty && returned.isEmpty && waiting == 0
            && sentAway == 0 && inFlight == 0
            && !isSilent && troubleBegan == nil && failure == nil
            && notBefore.map { $0 <= .now } ?? true
    }

    mutating func put(back fetch: Fetch) {
        returned.insert(Returned(fetch: fetch))
    }

    /// Gives one that came back another priority.
    ///
    /// - Returns: whether it is here.
    mutating func setPriority(_ priority: Int, ofReturned fetch: Int64) -> Bool {
        var fetches = returned.unordered
        guard let place = fetches.firstIndex(where: { $0.fetch.planned.id == fetch }) else {
            return false
        }
        fetches[place] = Returned(fetch: fetches[place].fetch.with(priority: priority))
        returned = Heap(fetches)
        return true
    }

    /// Takes out one that came back; nil if it is not here.
    mutating func remove(returned fetch: Int64) -> Fetch? {
        var fetches = returned.unordered
        guard let place = fetches.firstIndex(where: { $0.fetch.planned.id == fetch }) else {
            return nil
        }
        let removed = fetches.remove(at: place).fetch
        returned = Heap(fetches)
        return removed
    }

    private var isReturnedFirst: Bool {
        guard let fetch = returned.min?.fetch else { return false }
        if isFull { return true }
        return firstPlanned.map { fetch.planned.priority >= $0.priority } ?? true
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
    let place: PlannedFetch.Place

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

/// Where a schedule has its fetches from: the plan, what the cache knows of them, and what callers
/// want of them.
struct FetchSource {
    let plan: Plan
    let cache: Cache
    let changes: FetchChanges

    /// The next fetches of an origin, as the plan has them in order.
    func page(
        ofOrigin origin: Int, after place: PlannedFetch.Place?, limit: Int
    ) throws -> [PlannedFetch] {
        try completed(try plan.fetches(ofOrigin: origin, after: place, limit: limit))
    }

    /// One that was moved to a place; nil if it is not to be fetched any more.
    func fetch(at place: PlannedFetch.Place) throws -> PlannedFetch? {
        guard let fetch = try plan.fetch(place.fetch) else { return nil }
        return try completed([fetch]).first?.with(priority: ~place.turn)
    }

    private func completed(_ fetches: [PlannedFetch]) throws -> [PlannedFetch] {
        let stale = fetches.indices.filter { fetches[$0].status == .stale }
        guard !stale.isEmpty else { return fetches }
        var fetches = fetches
        for (place, known) in zip(stale, try cache.resources(stale.map { fetches[$0].key })) {
            if let known { fetches[place] = fetches[place].about(known) }
        }
        return fetches
    }
}
