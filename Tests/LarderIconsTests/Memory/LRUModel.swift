import LarderIcons

/// A simple model of a ``MemoryCache``: an array with the least recently used entry first.
struct LRUModel {
    private(set) var entries: [(key: String, version: Int, cost: Int)] = []
    private(set) var counts = Tally()
    private(set) var costLimit: Int
    private(set) var countLimit: Int

    /// A copy of ``MemoryCache/Counts``, which only a cache can create.
    struct Tally: Equatable {
        var entries = 0
        var cost = 0
        var peakCost = 0
        var hits = 0
        var misses = 0
        var insertions = 0
        var replacements = 0
        var evictions = 0
        var removals = 0
        var refusals = 0
    }

    init(costLimit: Int, countLimit: Int) {
        self.costLimit = costLimit
        self.countLimit = countLimit
    }

    mutating func use(_ key: String) -> Int? {
        guard let index = entries.firstIndex(where: { $0.key == key }) else {
            counts.misses += 1
            return nil
        }
        counts.hits += 1
        let entry = entries.remove(at: index)
        entries.append(entry)
        return entry.version
    }

    func contains(_ key: String) -> Bool { entries.contains { $0.key == key } }

    mutating func insert(_ key: String, _ version: Int, cost: Int) -> Bool {
        let old = entries.firstIndex { $0.key == key }
        guard cost <= costLimit / 4, countLimit > 0 else {
            counts.refusals += 1
            if let old {
                entries.remove(at: old)
                counts.removals += 1
            }
            tally()
            return false
        }
        if let old {
            entries.remove(at: old)
            counts.replacements += 1
        }
        entries.append((key, version, cost))
        counts.insertions += 1
        evict(toCost: costLimit, count: countLimit)
        counts.peakCost = max(counts.peakCost, counts.cost)
        return true
    }

    mutating func remove(_ key: String) -> Int? {
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
        counts.removals += 1
        defer { tally() }
        return entries.remove(at: index).version
    }

    mutating func removeAll() {
        counts.removals += entries.count
        entries = []
        tally()
    }

    mutating func limit(cost: Int) {
        costLimit = cost
        evict(toCost: costLimit, count: countLimit)
    }

    mutating func limit(count: Int) {
        countLimit = count
        evict(toCost: costLimit, count: countLimit)
    }

    mutating func evict(toCost cost: Int, count: Int = .max) {
        tally()
        while counts.cost > cost || entries.count > count, !entries.isEmpty {
            entries.removeFirst()
            counts.evictions += 1
            tally()
        }
    }

    private mutating func tally() {
        counts.entries = entries.count
        counts.cost = entries.reduce(0) { $0 + $1.cost }
    }
}

extension LRUModel.Tally {
    init(_ counts: MemoryCache.Counts) {
        self.init(
            entries: counts.entries, cost: counts.cost, peakCost: counts.peakCost,
            hits: counts.hits, misses: counts.misses, insertions: counts.insertions,
            replacements: counts.replacements, evictions: counts.evictions,
            removals: counts.removals, refusals: counts.refusals)
    }
}
