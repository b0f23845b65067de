import Foundation

/// A priority queue of unique keys, in the order of insertion within a priority. Operations take
/// constant time on average.
struct TurnQueue {
    private struct Place {
        let key: String
        let ticket: Int
    }

    private struct Level {
        var places: [Place] = []
        var head = 0
    }

    private var levels = Array(repeating: Level(), count: IconPriority.allCases.count)
    private var tickets: [String: (priority: IconPriority, ticket: Int)] = [:]
    private var lastTicket = 0
    private var outdatedPlaces = 0

    var count: Int { tickets.count }
    func contains(_ key: String) -> Bool { tickets[key] != nil }

    mutating func insert(_ key: String, _ priority: IconPriority) {
        if let known = tickets[key] {
            guard known.priority != priority else { return }
            outdatedPlaces += 1
        }
        lastTicket += 1
        tickets[key] = (priority, lastTicket)
        levels[priority.rawValue].places.append(Place(key: key, ticket: lastTicket))
        if outdatedPlaces > 64, outdatedPlaces > tickets.count { sweep() }
    }

    mutating func remove(_ key: String) {
        if tickets.removeValue(forKey: key) != nil { outdatedPlaces += 1 }
        if tickets.isEmpty { self = TurnQueue() }
    }

    mutating func next() -> String? {
        for priority in IconPriority.allCases.reversed() {
            while let place = takeFirst(of: priority) {
                guard tickets[place.key]?.ticket == place.ticket else {
                    outdatedPlaces -= 1
                    continue
                }
                tickets[place.key] = nil
                return place.key
            }
        }
        return nil
    }

    private mutating func takeFirst(of priority: IconPriority) -> Place? {
        let level = priority.rawValue
        let head = levels[level].head
        guard head < levels[level].places.count else {
            levels[level] = Level()
            return nil
        }
        let place = levels[level].places[head]
        levels[level].head += 1
        if head > 64, 2 * head > levels[level].places.count {
            levels[level].places.removeFirst(head + 1)
            levels[level].head = 0
        }
        return place
    }

    /// Removes outdated places, which accumulate while rows scroll.
    private mutating func sweep() {
        for level in levels.indices {
            let places = levels[level].places[levels[level].head...]
            levels[level] = Level(places: places.filter { tickets[$0.key]?.ticket == $0.ticket })
        }
        outdatedPlaces = 0
    }
}

/// Recent failures. Their icons are not fetched again each time their row appears.
struct FailureMemory {
    static let limit = 4096
    /// The maximum lifetime of a failure in seconds, even if `Retry-After` is longer.
    static let longest: TimeInterval = 86_400

    private var failures: [String: (failure: IconFailure, until: Date)] = [:]

    var count: Int { failures.count }

    mutating func failure(of key: String, at now: Date) -> IconFailure? {
        guard let (failure, until) = failures[key] else { return nil }
        if now < until { return failure }
        failures[key] = nil
        return nil
    }

    mutating func remember(
        _ failure: IconFailure, of key: String, for lifetime: TimeInterval, at now: Date
    ) {
        guard lifetime > 0 else { return }
        let seconds = min(max(lifetime, failure.retryAfter ?? 0), Self.longest)
        if failures.count >= Self.limit { makeRoom(at: now) }
        failures[key] = (failure, now + seconds)
    }

    mutating func forget(_ key: String) { failures[key] = nil }
    mutating func forgetAll() { failures = [:] }

    /// Removes expired failures and, if too many remain, the half that expires first.
    private mutating func makeRoom(at now: Date) {
        failures = failures.filter { now < $0.value.until }
        guard failures.count >= Self.limit else { return }
        let times = failures.values.map(\.until).sorted()
        let median = times[times.count / 2]
        failures = failures.filter { $0.value.until > median }
    }
}
