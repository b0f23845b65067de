import Foundation

/// Waiting keys, by priority, then in the order of arrival. Each operation takes constant time, on
/// average.
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
    /// The valid ticket of each key. Places with another ticket are outdated.
    private var tickets: [String: (priority: IconPriority, ticket: Int)] = [:]
    private var lastTicket = 0
    private var left = 0

    var count: Int { tickets.count }
    var isEmpty: Bool { tickets.isEmpty }
    func contains(_ key: String) -> Bool { tickets[key] != nil }

    /// Puts a key at the end of its priority's line, unless it is already there. Removes it from
    /// another line.
    mutating func insert(_ key: String, _ priority: IconPriority) {
        if let known = tickets[key] {
            guard known.priority != priority else { return }
            left += 1
        }
        lastTicket += 1
        tickets[key] = (priority, lastTicket)
        levels[priority.rawValue].places.append(Place(key: key, ticket: lastTicket))
        if left > 64, left > tickets.count { sweep() }
    }

    mutating func remove(_ key: String) {
        if tickets.removeValue(forKey: key) != nil { left += 1 }
        if tickets.isEmpty { self = TurnQueue() }
    }

    mutating func next() -> String? {
        for priority in IconPriority.allCases.reversed() {
            while let place = takeFirst(of: priority) {
                guard tickets[place.key]?.ticket == place.ticket else {
                    left -= 1
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
        levels[level].head += 1
        if head > 64, 2 * head > levels[level].places.count {
            let place = levels[level].places[head]
            levels[level].places.removeFirst(head + 1)
            levels[level].head = 0
            return place
        }
        return levels[level].places[head]
    }

    /// Drops outdated places, which scrolling rows produce.
    private mutating func sweep() {
        for level in levels.indices {
            let places = levels[level].places[levels[level].head...]
            levels[level] = Level(places: places.filter { tickets[$0.key]?.ticket == $0.ticket })
        }
        left = 0
    }
}

/// Recent failures, so that an icon is not requested again whenever its row appears.
struct FailureMemory {
    /// Maximum number of failures. The ones that expire first make room.
    static let limit = 4096
    /// Maximum lifetime, in seconds, whatever a server says.
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

    /// Forgets expired failures, and the half of the rest that expires first.
    private mutating func makeRoom(at now: Date) {
        failures = failures.filter { now < $0.value.until }
        guard failures.count >= Self.limit else { return }
        let times = failures.values.map(\.until).sorted()
        let median = times[times.count / 2]
        failures = failures.filter { $0.value.until > median }
    }
}
