import Foundation

/// A priority queue of unique keys, in the order of insertion within a priority.
struct TurnQueue {
    private typealias Place = (key: String, ticket: Int)

    private var levels = IconPriority.allCases.map { _ in ArraySlice<Place>() }
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
        levels[priority.rawValue].append((key, lastTicket))
        guard outdatedPlaces > 64, outdatedPlaces > tickets.count else { return }
        // Removes outdated places, which accumulate while rows scroll.
        for level in levels.indices {
            levels[level] = levels[level].filter { tickets[$0.key]?.ticket == $0.ticket }[...]
        }
        outdatedPlaces = 0
    }

    mutating func remove(_ key: String) {
        if tickets.removeValue(forKey: key) != nil { outdatedPlaces += 1 }
        if tickets.isEmpty { self = TurnQueue() }
    }

    mutating func next() -> String? {
        for level in levels.indices.reversed() {
            while let place = levels[level].popFirst() {
                if tickets[place.key]?.ticket == place.ticket {
                    tickets[place.key] = nil
                    return place.key
                }
                outdatedPlaces -= 1
            }
            // An empty slice would still use the memory of its removed elements.
            levels[level] = []
        }
        return nil
    }
}

/// Recent failures, so that failed icons are not fetched again each time their rows appear.
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
        if failures.count >= Self.limit { failures = failures.filter { now < $0.value.until } }
        if failures.count >= Self.limit {
            let median = failures.values.map(\.until).sorted()[failures.count / 2]
            failures = failures.filter { $0.value.until > median }
        }
        failures[key] = (failure, now + seconds)
    }

    mutating func forget(_ key: String?) {
        if let key { failures[key] = nil } else { failures = [:] }
    }
}
