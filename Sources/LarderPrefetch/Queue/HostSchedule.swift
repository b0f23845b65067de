import HeapModule
import LarderCache
import LarderCore
import LarderHTTP

/// The order of fetches. URLs of higher priority come first. For equal priorities, the order of
/// origins is:
/// 1. Origins that are not silent (``HostCursor/isSilent``).
/// 2. Origins with fewer requests in flight than their share of slots (``isBehind(_:)``).
/// 3. Origins with the fewest requests in flight, so that no origin starves.
/// 4. Origins that had the fewest turns of ``requestsPerTurn`` requests.
/// 5. Origins with an open connection, because connecting takes longer than a request. Of these,
///    the most recently used comes first, because libcurl closes the least recently used.
/// 6. Origins whose next URL comes first in manifest order.
///
/// If an origin has no connection, its next fetch only opens one, needs no slot, and is put back.
///
/// To find out why a URL waits, check these conditions in order. The first that holds is the
/// reason. After a redirect, the origin is that of the target. Ignore outdated entries in heaps.
/// 1. ``FetchQueue`` starts no fetch, because it is stopping or `isBacklogged`.
/// 2. `delayed` has the URL: it failed, and its retry is not due.
/// 3. ``next()`` returned the URL: its ``TransferOperation`` is running, or waiting for a slot, or
///    its response waits to be checked, committed or reported.
/// 4. `cursors` lacks the origin: it is in `newcomers`, and the `newcomer` has not started a fetch.
/// 5. `givenUp` has the origin: its URLs will fail.
/// 6. `isAtLimit(_:)`: the origin has the maximum number of requests in flight.
/// 7. ``HostCursor/isFull``: too many retries and redirects precede the origin's planned URLs.
/// 8. ``HostCursor/head(from:)`` returns an earlier URL of the origin.
/// 9. No heap has the origin: its connection is being opened (``HostCursor/connecting``).
/// 10. `held` has the origin: it requested a delay, or is at its rate limit.
/// 11. `unconnected` has the origin: others come first, or too many are connecting (`reserved`).
/// 12. `ready` has the origin: no slot is free (`hasSlot(for:)`), or other origins come first.
struct HostSchedule {
    typealias Instant = ContinuousClock.Instant

    static let readAhead = 4096
    private static let requestsPerTurn = 16

    private let source: HostCursor.Source
    private let isConnected: (String) -> Bool
    private let now: () -> Instant
    private let slots: Int
    private let ahead: Int
    private let connections: Int
    private let limits: HostLimits
    private let retry: RetryPolicy
    /// Finished cursors are removed, because a manifest may have 100,000 hosts.
    private(set) var cursors: [Int: HostCursor] = [:]
    private(set) var names: OriginNames
    /// Planned origins without a cursor, in reverse order. Only the next one needs a heap entry.
    private var newcomers: [Int] = []
    /// The number of planned URLs of each origin, or 0 if it has a cursor.
    private var planned: [Int32]
    private var newcomer: Int?
    private let pageSize: Int
    private let readAhead: Int
    /// Origins that can fetch on an open connection or, if `connections` is 0, on a new one.
    private(set) var ready = Heap<ReadyHost>()
    private var unconnected = Heap<ReadyHost>()
    private var held = Heap<Delayed<ReadyHost>>()
    private(set) var delayed = Heap<Delayed<Attempt>>()
    private var givenUp: Set<Int> = []
    private var cursorLimit: Int
    private var serial = 0
    private var remaining = 0
    private var inFlight = 0
    /// The priorities of fetches that are connecting, or that wait to use a new connection.
    private var reserved: [Int] = []

    /// `ahead` limits the fetches in the operation queue beyond `slots`, and `connections` limits
    /// the connections that are being opened or wait for their first request.
    init(
        plan: Plan, cache: Cache, slots: Int, ahead: Int = 0, connections: Int = 0,
        limits: HostLimits, retry: RetryPolicy = RetryPolicy(),
        readAhead: Int = HostSchedule.readAhead, now: @escaping () -> Instant = { .now },
        isConnected: @escaping (String) -> Bool
    ) throws {
        (self.isConnected, self.now, self.retry) = (isConnected, now, retry)
        (self.slots, self.ahead, self.connections) = (slots, ahead, connections)
        source = { try plan.fetches(ofOrigin: $0, after: $1, limit: $2, knownTo: cache) }
        names = OriginNames(plan.origins)
        (self.limits, self.readAhead, cursorLimit) = (limits, readAhead, readAhead)
        pageSize = max(1, min(64, readAhead / max(1, plan.origins.count)))
        planned = Array(repeating: 0, count: plan.origins.count)
        let origins = try plan.orderFetches()
        for (number, urls) in origins {
            planned[number] = Int32(clamping: urls)
            remaining += urls
        }
        newcomers = origins.reversed().map(\.origin)
    }

    /// Admits the first origin. Must be called once, before ``next()``.
    mutating func begin() throws { try admitNewcomer() }

    private mutating func admitNewcomer() throws {
        newcomer = nil
        while let number = newcomers.popLast() {
            guard planned[number] > 0 else { continue }
            newcomer = number
            if try place(number) { return }
            newcomer = nil
        }
    }

    /// Whether no fetch waits. Ignores origins at their limit, which have fetches in flight.
    var isEmpty: Bool {
        mutating get {
            removeOutdated()
            while let next = held.min, isOutdated(next.value) { held.removeMin() }
            return ready.isEmpty && unconnected.isEmpty && held.isEmpty && delayed.isEmpty
                && givenUp.isEmpty
        }
    }

    var nextInstant: Instant? {
        guard let held = held.min, let delayed = delayed.min else {
            return held.min?.instant ?? delayed.min?.instant
        }
        return min(held.instant, delayed.instant)
    }

    typealias Next = (
        fetch: Attempt, cursor: Int, isLast: Bool, onlyConnects: Bool, sharesConnection: Bool
    )

    /// Returns the next fetch, which is in flight until `ended` or `endedConnecting` is called.
    mutating func next() throws -> Next? {
        try wakeUp()
        while let (host, onlyConnects) = nextHost() {
            let number = host.cursor
            guard let cursor = cursors[number] else { continue }
            if !onlyConnects, host.isOpen, !isConnected(names[number]) {
                // The connection has closed, so other origins may come first.
                release(cursor)
                try place(number)
                continue
            }
            guard let head = try cursor.head(from: source) else { continue }
            // Counted before `take`, which could remove a cursor without requests in flight.
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
                cursor.nextStart = now() + interval
            }
            // `isLast` needs the page, which `place` does not read for an origin at its limit.
            _ = try cursor.head(from: source)
            try place(number)
            if number == newcomer { try admitNewcomer() }
            return (fetch, number, cursor.isLast, onlyConnects, !cursor.isSilent)
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

    /// Whether a slot is free. A slot is reserved for each connecting fetch of higher priority.
    private func hasSlot(for priority: Int) -> Bool {
        let higher = reserved.count { $0 > priority }
        return inFlight + higher < (higher == 0 ? slots + ahead : slots)
    }

    private mutating func release(_ cursor: HostCursor) {
        guard let priority = cursor.prepared else { return }
        cursor.prepared = nil
        unreserve(priority)
    }

    private mutating func unreserve(_ priority: Int) {
        if let place = reserved.firstIndex(of: priority) { reserved.remove(at: place) }
    }

    /// Whether a taken fetch may still start. Its origin may since have requested a delay.
    /// Mutating, because the compiler would otherwise copy the schedule.
    mutating func mayStart(_ cursor: Int) -> Bool {
        guard let cursor = cursors[cursor] else { return true }
        return cursor.failure == nil && cursor.heldUntil.map { $0 <= now() } ?? true
    }

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

    mutating func ended(_ number: Int) throws {
        inFlight -= 1
        cursors[number]?.inFlight -= 1
        try announce(number)
    }

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
        cursor?.taken -= 1
        remaining += 1
        try put(back: fetch)
    }

    private mutating func forget(_ number: Int) {
        let now = now()
        if cursors[number]?.isDone(at: now) ?? false { cursors[number] = nil }
        guard cursors.count > cursorLimit else { return }
        cursors = cursors.filter { !$0.value.isDone(at: now) }
        cursorLimit = max(readAhead, 2 * cursors.count)
    }

    /// Records a request's result. Returns the failure if the origin is given up because of it.
    @discardableResult
    mutating func note(_ sign: HostSign, of number: Int) throws -> ResourceFailure? {
        guard let cursor = cursors[number], cursor.failure == nil else { return nil }
        cursor.note(sign, patience: retry.maximumTime)
        guard let failure = cursor.failure else { return nil }
        release(cursor)
        // Puts back the origin's waiting retries, so that they fail with the origin.
        let (origin, waiting) = (names[number], delayed.unordered)
        delayed = Heap(waiting.filter { $0.value.target.url.origin != origin })
        cursor.waiting = 0
        for entry in waiting where entry.value.target.url.origin == origin {
            try put(back: entry.value)
        }
        return failure
    }

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

    mutating func failureIfLate(_ fetch: Attempt) -> ResourceFailure? {
        guard let failure = fetch.lastFailure, fetch.target.redirects == 0,
            ContinuousClock.now - fetch.start > retry.maximumTime
        else { return nil }
        return failure.outOfTime
    }

    mutating func put(back fetch: Attempt) throws {
        let number = names.number(of: fetch.target.url.origin)
        enter(number).put(back: fetch)
        countAway(fetch, at: number, 1)
        try announce(number)
    }

    /// Updates ``HostCursor/sentAway`` of the first origin of a redirected fetch, and returns it.
    @discardableResult
    private mutating func countAway(_ fetch: Attempt, at number: Int, _ change: Int) -> Int? {
        guard !fetch.target.isAtOwnOrigin else { return nil }
        let source = names.number(of: fetch.target.first.origin)
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
        guard nextInstant != nil else { return }
        let now = now()
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

    /// With a rate limit, an origin gets one request at a time unless it is answering.
    private func isAtLimit(_ cursor: HostCursor) -> Bool {
        let isSlow = cursor.limit.interval != nil && !cursor.isAnswering
        return cursor.inFlight >= (isSlow ? 1 : cursor.limit.requests)
    }

    /// Whether an origin has fewer requests in flight than its share of slots (at most half).
    /// Without this rule, only the largest origin would have URLs left at the end.
    private func isBehind(_ cursor: HostCursor) -> Bool {
        guard cursor.isAnswering, remaining > 0 else { return false }
        let total = slots + ahead
        return cursor.inFlight < min(total * cursor.remaining / remaining, total / 2)
    }

    private func isOutdated(_ host: ReadyHost) -> Bool {
        host.version != cursors[host.cursor]?.version
    }

    private mutating func announce(_ number: Int) throws {
        if try !place(number), number == newcomer { try admitNewcomer() }
        forget(number)
    }

    /// Moves an origin to the collection for its state. Returns whether it can start a fetch.
    @discardableResult
    private mutating func place(_ number: Int) throws -> Bool {
        let cursor = enter(number)
        serial += 1
        cursor.version = serial
        guard !isAtLimit(cursor) || cursor.failure != nil,
            let head = try cursor.head(from: source)
        else { return false }
        if cursors.count > readAhead { cursor.forgetPage() }
        if cursor.failure != nil {
            givenUp.insert(number)
            return false
        }
        let isOpen =
            cursor.prepared != nil || cursor.connecting == 0 && isConnected(names[number])
        guard isOpen || cursor.connecting == 0 || cursor.isSilent else { return false }
        let host = ReadyHost(
            cursor: number, version: cursor.version, isSilent: cursor.isSilent,
            isBehind: isBehind(cursor), inFlight: cursor.inFlight,
            turns: cursor.taken / Self.requestsPerTurn, isOpen: isOpen, lastUse: cursor.lastUse,
            place: head.place)
        if let instant = cursor.notBefore, instant > now() {
            release(cursor)
            held.insert(Delayed(instant: instant, serial: serial, value: host))
            return false
        }
        if isOpen || connections == 0 {
            ready.insert(host)
            ready = trimmed(ready)
        } else {
            unconnected.insert(host)
            unconnected = trimmed(unconnected)
        }
        return true
    }

    private func trimmed(_ heap: Heap<ReadyHost>) -> Heap<ReadyHost> {
        guard heap.count > 2 * cursors.count + Self.readAhead else { return heap }
        return Heap(heap.unordered.filter { !isOutdated($0) })
    }
}

/// A value that is due at an instant. Values with equal instants keep their order of insertion.
struct Delayed<Value>: Comparable {
    let instant: ContinuousClock.Instant
    let serial: Int
    let value: Value

    static func == (left: Delayed, right: Delayed) -> Bool { left.serial == right.serial }
    static func < (left: Delayed, right: Delayed) -> Bool {
        (left.instant, left.serial) < (right.instant, right.serial)
    }
}

enum HostSign: Sendable {
    case answered
    case held(Duration, since: ContinuousClock.Instant, status: Int)
    case silent
    /// The request was not sent, or was cancelled.
    case none

    init(_ response: TransferOperation.Response) {
        if let head = response.head {
            let mayPass = RetryPolicy.retriedStatuses.contains(head.status)
            let delay = mayPass ? RetryAfter.delay(of: head) : nil
            self = delay.map { .held($0, since: .now, status: head.status) } ?? .answered
        } else if case .failure(let error)? = response.result {
            self =
                switch error.code {
                case .stalled, .timeout: .silent
                case let code where code.isUnreachable: .silent
                case .cancelled, .abandoned, .invalidRequest, .outOfFiles: .none
                default: .answered
                }
        } else {
            self = .none
        }
    }
}

struct HostLimits: Sendable {
    /// The maximum number of requests that all workers together have in flight to an origin.
    let perHost: Int
    /// The maximum number of requests that this run has in flight to an origin.
    let most: Int
    /// The maximum number of requests per second that all workers send to an origin.
    let ratePerHost: Double?
    var shard: Shard?

    typealias Limit = (requests: Int, interval: Duration?)

    func limit(ofOrigin origin: String) -> Limit {
        var share: HostShare?
        if let shard, !shard.splits.isEmpty, let url = try? HTTPURL(origin) {
            share = shard.share(ofHost: url.host)
        }
        let rate = ratePerHost.map { share?.rate(of: $0) ?? $0 }
        let requests = min(share?.requests(of: perHost) ?? perHost, most)
        return (requests, rate.map { Duration.seconds(1 / $0) })
    }
}
