/// Keys that wait for a free place: the highest priority first, among equals the one that came
/// first. Each operation takes constant time, on average.
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
    /// Of each key its only valid ticket: a place with another one was left.
    private var tickets: [String: (priority: IconPriority, ticket: Int)] = [:]
    private var lastTicket = 0
    private var left = 0

    var count: Int { tickets.count }
    var isEmpty: Bool { tickets.isEmpty }

    func contains(_ key: String) -> Bool { tickets[key] != nil }

    /// Puts a key at the end of its priority's line. One that waits there stays where it is; from
    /// another priority's line it comes over.
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

    /// Takes out the key whose turn it is.
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

    /// Drops the places that were left: rows that come and go would fill it with them.
    private mutating func sweep() {
        for level in levels.indices {
            let places = levels[level].places[levels[level].head...]
            levels[level] = Level(
                places: places.filter { tickets[$0.key]?.ticket == $0.ticket })
        }
        left = 0
    }
}
