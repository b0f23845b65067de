import HeapModule
import LarderCache

/// Which fetch is next, over the cursors of all origins.
///
/// Next is the URL with the highest priority; among equals
/// - an origin that answers before one that last did not,
/// - one that has less in flight than its share of what is left (``isBehind(_:)``),
/// - the one with the fewest requests in flight, so that one at the head of the manifest never starves the others,
/// - one that has had fewer turns, of ``turn`` requests each, so that every origin has its first before any its next,
/// - one that has answered: its connection is open, and another takes longer to make than a request,
/// - then manifest order.
///
/// What has to wait for its time (another attempt, an origin that asked for patience, a limit of requests a
/// second) waits here and takes no place in the queue.
struct HostSchedule {
    typealias Instant = ContinuousClock.Instant

    /// Planned fetches held in memory for all origins together.
    private static let readAhead = 16_384
    /// An origin that answers is given up to three times what may be in flight, and at most so many more: the
    /// transfer loop, which keeps that limit, has the next ones at hand.
    private static let mostAhead = 24

    /// So many requests in a row go over a connection that is open before one that is not is made.
    private static let turn = 16

    private let plan: Plan
    private let cache: Cache
    private let places: Int
    private let perHost: Int
    private let interval: Duration?
    private var cursors: [HostCursor] = []
    private var numbers: [String: Int] = [:]
    private var ready = Heap<ReadyHost>()
    private var versions: [Int] = []
    /// Origins that may start a fetch from an instant on.
    private var held = Heap<Waiting<ReadyHost>>()
    /// Attempts that may begin from an instant on.
    private var delayed = Heap<Waiting<Fetch>>()
    private var givenUp: Set<Int> = []
    private var serial = 0
    /// URLs of the plan that were not taken out yet; those that came back count as others.
    private var remaining: Int

    /// - Parameters:
    ///   - places: how many fetches are taken out at once, at most.
    ///   - perHost: the most requests in flight to one origin.
    ///   - interval: the least time between the beginnings of two of them; nil for none.
    init(
        plan: Plan, cache: Cache, places: Int, perHost: Int, interval: Duration?
    ) throws {
        self.plan = plan
        self.cache = cache
        self.places = places
        self.perHost = perHost
        self.interval = interval
        let pageSize = max(1, min(64, Self.readAhead / max(1, plan.origins.count)))
        let planned = try plan.orderFetches()
        remaining = planned.values.reduce(0, +)
        for (number, origin) in plan.origins.enumerated() {
            cursors.append(
                HostCursor(
                    origin: number, planned: planned[number] ?? 0, pageSize: pageSize))
            versions.append(0)
            numbers[origin] = number
        }
    }

    /// Takes in every planned origin. To be called once, before ``next()``.
    mutating func begin() throws {
        for number in cursors.indices { try announce(number) }
    }

    /// Whether nothing waits, neither for a place nor for its time. Origins with as much under way as
    /// they may have are not counted.
    var isEmpty: Bool {
        mutating get {
            // Entries that are out of date would hide that nothing is left.
            while let next = ready.min, isOutdated(next) { ready.removeMin() }
            while let next = held.min, isOutdated(next.value) { held.removeMin() }
            return ready.isEmpty && held.isEmpty && delayed.isEmpty && givenUp.isEmpty
        }
    }

    /// When something that waits for its time will be due; nil where nothing does.
    var nextInstant: Instant? {
        [held.min?.instant, delayed.min?.instant].compactMap(\.self).min()
    }

    /// A fetch that is to begin.
    struct Next {
        let head: HostCursor.Head
        let cursor: Int
        /// Whether the plan has nothing else of its origin.
        let isLast: Bool
    }

    /// Takes out the fetch that is to begin now; it counts as under way until ``ended(_:)``.
    mutating func next() throws -> Next? {
        try wakeUp()
        while let host = ready.popMin() {
            guard !isOutdated(host), let head = try cursors[host.cursor].head(from: plan, cache)
            else {
                continue
            }
            takeHead(of: host.cursor)
            cursors[host.cursor].inFlight += 1
            if let interval { cursors[host.cursor].nextStart = .now + interval }
            try announce(host.cursor)
            return Next(head: head, cursor: host.cursor, isLast: cursors[host.cursor].isLast)
        }
        return nil
    }

    /// Takes out a fetch whose origin was given up, and the reason.
    mutating func nextGivenUp() throws -> (head: HostCursor.Head, failure: FetchFailure)? {
        while let number = givenUp.first {
            if let failure = cursors[number].failure,
                let head = try cursors[number].head(from: plan, cache)
            {
                takeHead(of: number)
                return (head, failure)
            }
            givenUp.remove(number)
        }
        return nil
    }

    private mutating func takeHead(of number: Int) {
        cursors[number].removeHead()
        remaining = max(0, remaining - 1)
    }

    /// A fetch has left its connection, or never got to have one.
    mutating func ended(_ cursor: Int) throws {
        cursors[cursor].inFlight -= 1
        try announce(cursor)
    }

    /// Takes note of how an origin took a request; the origin is given up where it has been without an
    /// answer, or asks to be left alone, for longer than `patience`.
    mutating func note(_ sign: HostSign, of cursor: Int, patience: Duration) throws {
        let wasGivenUp = cursors[cursor].failure != nil
        cursors[cursor].note(sign, patience: patience)
        guard !wasGivenUp, cursors[cursor].failure != nil else { return }
        // What waits for another attempt waits in vain.
        let waiting = delayed.unordered
        delayed = Heap(waiting.filter { numbers[$0.value.url.origin] != cursor })
        cursors[cursor].waiting = 0
        for entry in waiting where numbers[entry.value.url.origin] == cursor {
            try put(back: entry.value)
        }
    }

    /// Why an origin was given up; nil where it was not.
    func failure(of cursor: Int) -> FetchFailure? { cursors[cursor].failure }

    /// Until when an origin is to be left alone; nil for not at all.
    func hold(of cursor: Int) -> Instant? { cursors[cursor].heldUntil }

    /// Puts a fetch into the line of the origin that its next request goes to.
    mutating func put(back fetch: Fetch) throws {
        let number = number(of: fetch.url.origin)
        cursors[number].put(back: fetch)
        try announce(number)
    }

    /// The same, once its time has come.
    mutating func put(back fetch: Fetch, at instant: Instant) {
        serial += 1
        cursors[number(of: fetch.url.origin)].waiting += 1
        delayed.insert(Waiting(instant: instant, serial: serial, value: fetch))
    }

    private mutating func number(of origin: String) -> Int {
        if let known = numbers[origin] { return known }
        let number = cursors.count
        numbers[origin] = number
        cursors.append(HostCursor(origin: number, planned: 0, pageSize: 1))
        versions.append(0)
        return number
    }

    private mutating func wakeUp() throws {
        guard let first = nextInstant else { return }
        let now = Instant.now
        guard first <= now else { return }
        while let next = delayed.min, next.instant <= now {
            let fetch = delayed.removeMin().value
            cursors[number(of: fetch.url.origin)].waiting -= 1
            try put(back: fetch)
        }
        while let next = held.min, next.instant <= now {
            let host = held.removeMin().value
            if !isOutdated(host) { try announce(host.cursor) }
        }
    }

    private func limit(of cursor: HostCursor) -> Int {
        guard interval == nil else {
            // A rate is kept here: what was handed over too early, or had to wait for a connection, would exceed it.
            return cursor.isAnswering ? perHost : 1
        }
        guard cursor.isAnswering else { return perHost }
        return perHost + min(2 * perHost, Self.mostAhead)
    }

    /// Whether an origin has less in flight than its share of all that is left: what has most of the icons would
    /// else be asked for them alone in the end, when all others have had their turns. Never more than half of all
    /// places are given so.
    private func isBehind(_ cursor: HostCursor) -> Bool {
        guard cursor.isAnswering, remaining > 0 else { return false }
        let share = places * cursor.remaining / remaining
        return cursor.inFlight < min(share, places / 2)
    }

    private func isOutdated(_ host: ReadyHost) -> Bool { host.version != versions[host.cursor] }

    /// Puts an origin that can start a fetch in its place among the others.
    private mutating func announce(_ number: Int) throws {
        versions[number] += 1
        let cursor = cursors[number]
        guard cursor.inFlight < limit(of: cursor) || cursor.failure != nil,
            let head = try cursors[number].head(from: plan, cache)
        else { return }
        if cursor.failure != nil {
            givenUp.insert(number)
            return
        }
        let host = ReadyHost(
            cursor: number, version: versions[number], priority: head.planned.priority,
            isSilent: cursor.isSilent, isBehind: isBehind(cursor), inFlight: cursor.inFlight,
            turns: cursor.taken / Self.turn, isOpen: cursor.isAnswering, fetch: head.planned.id)
        if let instant = cursor.notBefore, instant > .now {
            serial += 1
            held.insert(Waiting(instant: instant, serial: serial, value: host))
        } else {
            ready.insert(host)
        }
    }
}

/// An origin that can start a fetch, in the order in which origins are to be served.
private struct ReadyHost: Comparable {
    let cursor: Int
    /// Out of date where the cursor has a newer one.
    let version: Int
    let priority: Int
    let isSilent: Bool
    let isBehind: Bool
    let inFlight: Int
    let turns: Int
    let isOpen: Bool
    let fetch: Int64

    static func < (left: ReadyHost, right: ReadyHost) -> Bool {
        if left.priority != right.priority { return left.priority > right.priority }
        if left.isSilent != right.isSilent { return right.isSilent }
        if left.isBehind != right.isBehind { return left.isBehind }
        if left.inFlight != right.inFlight { return left.inFlight < right.inFlight }
        if left.turns != right.turns { return left.turns < right.turns }
        if left.isOpen != right.isOpen { return left.isOpen }
        return left.fetch < right.fetch
    }
}

/// Something with a time to wait for; what came first is first among equals.
private struct Waiting<Value>: Comparable {
    let instant: ContinuousClock.Instant
    let serial: Int
    let value: Value

    static func == (left: Waiting, right: Waiting) -> Bool { left.serial == right.serial }

    static func < (left: Waiting, right: Waiting) -> Bool {
        (left.instant, left.serial) < (right.instant, right.serial)
    }
}
