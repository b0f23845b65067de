import HeapModule
import LarderCache
import LarderCore
import LarderHTTP

/// Chooses the next fetch of all origins: the URL with the highest priority; among equals
/// - an origin that answers before one that last did not,
/// - one that has less in flight than its share of what is left (``isBehind(_:)``),
/// - the one with the fewest requests in flight, so that one at the head of the manifest never
///   starves the others,
/// - one that has had fewer turns, of ``turn`` requests each, so that every origin has its first
///   before any its next,
/// - one that a connection is open to: another takes longer to make than a request; of those the
///   one used last, since libcurl closes the one used longest ago for another,
/// - then manifest order.
///
/// A fetch to an origin without a connection is first started to connect, which takes no slot
/// (unless `connections` is 0). It comes back when the connection is open.
///
/// A URL has not been requested because its origin, in this order,
/// - has no cursor and had no turn: `newcomers`;
/// - was given up, so that its URLs fail without a request: ``HostCursor/failure``, `givenUp`;
/// - is at its limit: `inFlight` of its cursor, `limit(of:)`;
/// - has too many attempts and redirects in memory: ``HostCursor/isFull``;
/// - is being connected to, and did answer before: ``HostCursor/connecting``;
/// - asked to wait, or its rate is used up: `held`, until ``HostCursor/notBefore``;
/// - has no connection, and enough others are being opened: `unconnected`, `reserved`;
/// - waits for a slot (`hasSlot(for:)`) or for other origins (``ReadyHost``): `ready`.
///
/// Otherwise it is not the first of its origin (``HostCursor/head(from:)``), or it was taken out
/// and is an operation. If its attempt has failed, it is in `delayed`.
struct HostSchedule {
    typealias Instant = ContinuousClock.Instant

    /// Planned fetches in memory for all origins together, about.
    static let readAhead = 4096
    /// An origin is asked for so many URLs before another one that has had fewer turns and has no
    /// connection.
    private static let turn = 16

    private let source: HostCursor.Source
    private let isConnected: (String) -> Bool
    private let slots: Int
    private let ahead: Int
    private let connections: Int
    private let limits: HostLimits
    private let retry: RetryPolicy
    /// Of origins that had their turn or are about to, and not of those that are done with: an icon
    /// each from a hundred thousand hosts is no more to remember than all from one.
    private(set) var cursors: [Int: HostCursor] = [:]
    private var names: OriginNames
    /// The plan's origins without a cursor, the next one last. Until their first turn they differ
    /// only by their first resource, so the next one stands for all of them.
    private var newcomers: [Int] = []
    /// The number of URLs of each origin, until it has a cursor.
    private var planned: [Int32]
    /// The origin that has a cursor and had no turn yet.
    private var newcomer: Int?
    private let pageSize: Int
    private let readAhead: Int
    /// Origins with an open connection, or all if none are opened ahead.
    private(set) var ready = Heap<ReadyHost>()
    private var unconnected = Heap<ReadyHost>()
    private var held = Heap<Delayed<ReadyHost>>()
    private(set) var delayed = Heap<Delayed<Attempt>>()
    private var givenUp: Set<Int> = []
    /// With more cursors than this, finished ones are removed.
    private var mostCursors: Int
    private var serial = 0
    private var remaining = 0
    /// The number of started fetches that do not only connect.
    private var inFlight = 0
    /// The priorities of fetches that connect, or whose connection waits for them.
    private var reserved: [Int] = []

    /// - Parameters:
    ///   - slots: Maximum number of fetches in flight.
    ///   - ahead: Maximum number of further fetches that wait for a slot elsewhere.
    ///   - connections: Maximum number of connections that are opened without a slot and wait for
    ///     their first request. With 0, connecting takes a slot.
    init(
        plan: Plan, cache: Cache, slots: Int, ahead: Int = 0, connections: Int = 0,
        limits: HostLimits, retry: RetryPolicy = RetryPolicy(),
        readAhead: Int = HostSchedule.readAhead, isConnected: @escaping (String) -> Bool
    ) throws {
        self.isConnected = isConnected
        self.retry = retry
        self.slots = slots
        self.ahead = ahead
        self.connections = connections
        source = { try plan.fetches(ofOrigin: $0, after: $1, limit: $2, knownTo: cache) }
        names = OriginNames(plan.origins)
        self.limits = limits
        self.readAhead = readAhead
        mostCursors = readAhead
        pageSize = max(1, min(64, readAhead / max(1, plan.origins.count)))
        planned = Array(repeating: 0, count: plan.origins.count)
        let origins = try plan.orderFetches()
        for (number, urls) in origins {
            planned[number] = Int32(clamping: urls)
            remaining += urls
        }
        newcomers = origins.reversed().map(\.origin)
    }

    /// Must be called once, before ``next()``.
    mutating func begin() throws { try welcome() }

    private mutating func welcome() throws {
        newcomer = nil
        while let number = newcomers.popLast() {
            guard planned[number] > 0 else { continue }
            newcomer = number
            if try place(number) { return }
            newcomer = nil
        }
    }

    /// Whether nothing waits. Origins at their limit do not count.
    var isEmpty: Bool {
        mutating get {
            // Outdated entries would hide that nothing is left.
            removeOutdated()
            while let next = held.min, isOutdated(next.value) { held.removeMin() }
            return ready.isEmpty && unconnected.isEmpty && held.isEmpty && delayed.isEmpty
                && givenUp.isEmpty
        }
    }

    var nextInstant: Instant? {
        [held.min?.instant, delayed.min?.instant].compactMap(\.self).min()
    }

    struct Next {
        let fetch: Attempt
        let cursor: Int
        let isLast: Bool
        let onlyConnects: Bool
        let sharesConnection: Bool
    }

    /// Takes out the next fetch. It counts as in flight until ``ended(_:)`` or
    /// ``endedConnecting(_:of:isOpen:)``.
    mutating func next() throws -> Next? {
        try wakeUp()
        while let (host, onlyConnects) = nextHost() {
            let number = host.cursor
            guard let cursor = cursors[number] else { continue }
            if !onlyConnects, host.isOpen, !isConnected(names[number]) {
                // The connection was closed: others may come first now.
                release(cursor)
                try place(number)
                continue
            }
            guard let head = try cursor.head(from: source) else { continue }
            // Before the take, which could otherwise remove the cursor.
            cursor.inFlight += 1
            if onlyConnects {
                cursor.connecting += 1
                reserved.append(head.priority)
            } else {
                inFlight += 1
                cursor.lastUse = serial
                release(cursor)
            }
            let fetch = try take(from: cursor)
            if !onlyConnects, let interval = cursor.limit.interval {
                cursor.nextStart = .now + interval
            }
            // Even at its limit, so that its last request is recognised.
            _ = try cursor.head(from: source)
            try place(number)
            if number == newcomer { try welcome() }
            return Next(
                fetch: fetch, cursor: number, isLast: cursor.isLast, onlyConnects: onlyConnects,
                sharesConnection: !cursor.isSilent)
        }
        return nil
    }

    private mutating func nextHost() -> (host: ReadyHost, onlyConnects: Bool)? {
        removeOutdated()
        let mayConnect = reserved.count < connections
        if let first = ready.min, hasSlot(for: first.priority),
            !mayConnect || unconnected.min.map({ first < $0 }) ?? true
        {
            ready.removeMin()
            return (first, false)
        }
        return mayConnect ? unconnected.popMin().map { ($0, true) } : nil
    }

    private mutating func removeOutdated() {
        while let next = ready.min, isOutdated(next) { ready.removeMin() }
        while let next = unconnected.min, isOutdated(next) { unconnected.removeMin() }
    }

    /// A fetch of a higher priority keeps its slot while it connects.
    private func hasSlot(for priority: Int) -> Bool {
        let higher = reserved.count { $0 > priority }
        return inFlight + higher < (higher == 0 ? slots + ahead : slots)
    }

    /// Frees the slot that is reserved for the first request of a new connection.
    private mutating func release(_ cursor: HostCursor) {
        guard let priority = cursor.prepared else { return }
        cursor.prepared = nil
        unreserve(priority)
    }

    private mutating func unreserve(_ priority: Int) {
        if let place = reserved.firstIndex(of: priority) { reserved.remove(at: place) }
    }

    /// Whether a fetch that was taken out may send its request now: its origin may have asked to
    /// wait meanwhile.
    func mayStart(_ cursor: Int) -> Bool {
        guard let cursor = cursors[cursor] else { return true }
        return cursor.failure == nil && cursor.heldUntil.map { $0 <= .now } ?? true
    }

    /// Takes out a fetch of an origin that was given up, with the reason.
    mutating func nextGivenUp() throws -> (fetch: Attempt, failure: ResourceFailure)? {
        while let number = givenUp.first {
            if let cursor = cursors[number], let failure = cursor.failure,
                try cursor.head(from: source) != nil
            {
                return (try take(from: cursor), failure)
            }
            givenUp.remove(number)
        }
        return nil
    }

    private mutating func take(from cursor: HostCursor) throws -> Attempt {
        let fetch = try cursor.removeHead()
        remaining = max(0, remaining - 1)
        if let source = countAway(fetch, at: cursor.origin, -1) { try announce(source) }
        return fetch
    }

    /// A fetch with a slot has ended, or never began.
    mutating func ended(_ number: Int) throws {
        inFlight -= 1
        cursors[number]?.inFlight -= 1
        try announce(number)
    }

    /// A fetch has ended that only connects. If it has connected, it is put back.
    mutating func endedConnecting(_ fetch: Attempt, of number: Int, isOpen: Bool) throws {
        let (priority, cursor) = (fetch.planned.priority, cursors[number])
        cursor?.inFlight -= 1
        cursor?.connecting -= 1
        if isOpen, let cursor, cursor.prepared == nil, cursor.failure == nil {
            cursor.prepared = priority
        } else {
            unreserve(priority)
        }
        guard isOpen else { return try announce(number) }
        cursor?.untake()
        remaining += 1
        try put(back: fetch)
    }

    /// Removes a finished cursor, and now and then all others that finished since.
    private mutating func forget(_ number: Int) {
        if cursors[number]?.isDone ?? false { cursors[number] = nil }
        guard cursors.count > mostCursors else { return }
        cursors = cursors.filter { !$0.value.isDone }
        mostCursors = max(readAhead, 2 * cursors.count)
    }

    /// Notes a request's result. Returns the failure of an origin that is given up for it.
    @discardableResult
    mutating func note(_ sign: HostSign, of number: Int) throws -> ResourceFailure? {
        guard let cursor = cursors[number], cursor.failure == nil else { return nil }
        cursor.note(sign, patience: retry.maximumTime)
        guard let failure = cursor.failure else { return nil }
        release(cursor)
        // Its waiting attempts fail now.
        let (origin, waiting) = (names[number], delayed.unordered)
        delayed = Heap(waiting.filter { $0.value.target.url.origin != origin })
        cursor.waiting = 0
        for entry in waiting where entry.value.target.url.origin == origin {
            try put(back: entry.value)
        }
        return failure
    }

    func name(of cursor: Int) -> String { names[cursor] }

    /// Schedules another attempt. Returns its instant, or the final failure.
    ///
    /// - Parameter cursor: of the origin that the failure came from, if it came from one.
    mutating func retry(
        _ fetch: Attempt, after failure: ResourceFailure, cursor: Int?
    ) -> Result<ContinuousClock.Instant, ResourceFailure> {
        let host = cursor.flatMap { cursors[$0] }
        if failure.isTransient, let reason = host?.failure { return .failure(reason) }
        let next = retry.nextAttempt(
            after: failure, attempt: fetch.attempt, since: fetch.start, hold: host?.heldUntil)
        if case .success(let instant) = next, let url = try? fetch.planned.target {
            let again = fetch.again(from: url, after: failure)
            enter(names.number(of: url.origin)).waiting += 1
            serial += 1
            delayed.insert(Delayed(instant: instant, serial: serial, value: again))
        }
        return next
    }

    /// Whether the time for another attempt has passed, since its origin was held after the attempt
    /// was scheduled. Returns the final failure.
    func isLate(_ fetch: Attempt) -> ResourceFailure? {
        guard let failure = fetch.lastFailure, fetch.target.redirects == 0,
            ContinuousClock.now - fetch.start > retry.maximumTime
        else { return nil }
        return failure.outOfTime
    }

    /// Returns a fetch to the origin of its next request.
    mutating func put(back fetch: Attempt) throws {
        let number = names.number(of: fetch.target.url.origin)
        enter(number).put(back: fetch)
        countAway(fetch, at: number, 1)
        try announce(number)
    }

    /// Counts a fetch that waits (1), or no longer waits (-1), at an origin that a redirect led to.
    /// Such fetches are in memory, and limit the origin that they came from, which is returned.
    @discardableResult
    private mutating func countAway(_ fetch: Attempt, at number: Int, _ change: Int) -> Int? {
        guard !fetch.target.isAtOwnOrigin else { return nil }
        let source = names.number(of: fetch.target.ownOrigin)
        guard source != number else { return nil }
        enter(source).sentAway += change
        return source
    }

    private mutating func enter(_ number: Int) -> HostCursor {
        if let cursor = cursors[number] { return cursor }
        let urls = planned.indices.contains(number) ? planned[number] : 0
        if urls > 0 { planned[number] = 0 }
        let cursor = HostCursor(
            origin: number, limit: limits.limit(ofOrigin: names[number]), planned: Int(urls),
            pageSize: pageSize)
        cursors[number] = cursor
        return cursor
    }

    private mutating func wakeUp() throws {
        guard let first = nextInstant else { return }
        let now = Instant.now
        guard first <= now else { return }
        while let next = delayed.min, next.instant <= now {
            let fetch = delayed.removeMin().value
            cursors[names.number(of: fetch.target.url.origin)]?.waiting -= 1
            try put(back: fetch)
        }
        while let next = held.min, next.instant <= now {
            let host = held.removeMin().value
            if !isOutdated(host) { try announce(host.cursor) }
        }
    }

    /// With a rate, an origin has one request at a time until it has answered, and after it was
    /// silent or asked to wait.
    private func limit(of cursor: HostCursor) -> Int {
        cursor.limit.interval != nil && !cursor.isAnswering ? 1 : cursor.limit.requests
    }

    /// Whether an origin has less in flight than its share of the remaining URLs. Without it, the
    /// largest origin would be left alone at the end. At most half of all slots are given this way.
    private func isBehind(_ cursor: HostCursor) -> Bool {
        guard cursor.isAnswering, remaining > 0 else { return false }
        let places = slots + ahead
        let share = places * cursor.remaining / remaining
        return cursor.inFlight < min(share, places / 2)
    }

    private func isOutdated(_ host: ReadyHost) -> Bool {
        host.version != cursors[host.cursor]?.version
    }

    /// Puts an origin in its place among the others after a change, or forgets it if it is done.
    private mutating func announce(_ number: Int) throws {
        // A waiting origin cannot stand for the other newcomers.
        if try !place(number), number == newcomer { try welcome() }
        forget(number)
    }

    /// - Returns: Whether it can start a fetch now.
    @discardableResult
    private mutating func place(_ number: Int) throws -> Bool {
        let cursor = enter(number)
        serial += 1
        cursor.version = serial
        guard cursor.inFlight < limit(of: cursor) || cursor.failure != nil,
            let head = try cursor.head(from: source)
        else { return false }
        if cursors.count > readAhead { cursor.forgetPage() }
        if cursor.failure != nil {
            givenUp.insert(number)
            return false
        }
        let isOpen =
            cursor.prepared != nil || cursor.connecting == 0 && isConnected(names[number])
        // The host's other fetches wait for the connection in progress.
        guard isOpen || cursor.connecting == 0 || cursor.isSilent else { return false }
        let host = ReadyHost(
            cursor: number, version: cursor.version, isSilent: cursor.isSilent,
            isBehind: isBehind(cursor), inFlight: cursor.inFlight,
            turns: cursor.taken / Self.turn, isOpen: isOpen, lastUse: cursor.lastUse,
            place: head.place)
        if let instant = cursor.notBefore, instant > .now {
            release(cursor)
            held.insert(Delayed(instant: instant, serial: serial, value: host))
            return false
        }
        if isOpen || connections == 0 {
            ready.insert(host)
            if hasTooMany(ready) { ready = withoutOutdated(ready) }
        } else {
            unconnected.insert(host)
            if hasTooMany(unconnected) { unconnected = withoutOutdated(unconnected) }
        }
        return true
    }

    /// If so, most entries are outdated.
    private func hasTooMany(_ heap: Heap<ReadyHost>) -> Bool {
        heap.count > 2 * cursors.count + Self.readAhead
    }

    private func withoutOutdated(_ heap: Heap<ReadyHost>) -> Heap<ReadyHost> {
        Heap(heap.unordered.filter { !isOutdated($0) })
    }
}

/// A value that waits until an instant. Among equal instants, the first inserted comes first.
struct Delayed<Value>: Comparable {
    let instant: ContinuousClock.Instant
    let serial: Int
    let value: Value

    static func == (left: Delayed, right: Delayed) -> Bool { left.serial == right.serial }
    static func < (left: Delayed, right: Delayed) -> Bool {
        (left.instant, left.serial) < (right.instant, right.serial)
    }
}

/// Numbers of origins, in the order of their first use.
struct OriginNames {
    private(set) var all: [String]
    private var numbers: [String: Int] = [:]

    init(_ planned: [String]) {
        all = planned
        numbers.reserveCapacity(planned.count)
        for (number, origin) in planned.enumerated() { numbers[origin] = number }
    }

    mutating func number(of origin: String) -> Int {
        if let known = numbers[origin] { return known }
        let number = numbers.count
        numbers[origin] = number
        all.append(origin)
        return number
    }

    subscript(number: Int) -> String { all[number] }
}

/// The result of a request, as far as it concerns the origin.
enum HostSign: Sendable {
    case answered
    /// It asked for no request for a while, from an instant on, with a status.
    case held(Duration, since: ContinuousClock.Instant, status: Int)
    case silent
    /// The request was not made, or was cancelled.
    case none

    init(_ response: TransferOperation.Response) {
        if let head = response.head {
            let mayPass = RetryPolicy.retriedStatuses.contains(head.status)
            let delay = mayPass ? RetryAfter.delay(of: head) : nil
            self = delay.map { .held($0, since: .now, status: head.status) } ?? .answered
            return
        }
        guard case .failure(let error)? = response.result else {
            self = .none
            return
        }
        self =
            switch error.code {
            case .stalled, .timeout: .silent
            case let code where code.isUnreachable: .silent
            case .cancelled, .abandoned, .invalidRequest, .outOfFiles: .none
            default: .answered
            }
    }
}

struct HostLimits: Sendable {
    /// Maximum number of requests in flight of all workers together.
    let perHost: Int
    /// Maximum number of requests in flight of this run.
    let most: Int
    /// Maximum number of requests a second of all workers together; nil for no limit.
    let ratePerHost: Double?
    var shard: Shard?

    struct Limit {
        let requests: Int
        let interval: Duration?
    }

    func limit(ofOrigin origin: String) -> Limit {
        let share = share(ofOrigin: origin)
        let rate = ratePerHost.map { share?.rate(of: $0) ?? $0 }
        return Limit(
            requests: min(share?.requests(of: perHost) ?? perHost, most),
            interval: rate.map { .seconds(1 / $0) })
    }

    private func share(ofOrigin origin: String) -> HostShare? {
        guard let shard, !shard.splits.isEmpty, let url = try? HTTPURL(origin) else { return nil }
        return shard.share(ofHost: url.host)
    }
}
