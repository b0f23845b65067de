/// What a ``MemoryCache`` does, on one thread: entries, limits and counts.
///
/// What is removed is handed out, and not freed here: that takes longer than all the rest.
struct MemoryStore {
    typealias Item = RecencyTable.Item

    struct Limits {
        var cost: Int
        var count = Int.max
    }

    private var table = RecencyTable()
    private var tally = MemoryCache.Counts()
    /// Bytes of all entries' data, without what holding them takes.
    private(set) var dataBytes = 0
    private let entryShare: Double
    var limits: Limits

    init(_ limits: Limits, entryShare: Double) {
        self.limits = limits
        self.entryShare = entryShare
    }

    /// What one entry may cost.
    var entryCostLimit: Int {
        if entryShare >= 1 { return limits.cost }
        return entryShare > 0 ? Int(Double(limits.cost) * entryShare) : 0
    }

    var counts: MemoryCache.Counts {
        var counts = tally
        counts.entries = table.count
        return counts
    }

    func contains(_ key: CacheKey) -> Bool { table.contains(key) }

    mutating func entry(for key: CacheKey) -> MemoryCache.Entry? {
        guard let entry = table.use(key) else {
            tally.misses += 1
            return nil
        }
        tally.hits += 1
        return entry
    }

    /// False if the item is not kept.
    mutating func insert(_ item: Item, _ removed: inout [Item]) -> Bool {
        guard item.cost <= entryCostLimit, limits.count > 0 else {
            tally.refusals += 1
            // It is out of date.
            _ = remove(item.key, &removed)
            return false
        }
        tally.insertions += 1
        tally.cost += item.cost
        dataBytes += item.entry.data.count
        if let replaced = table.insert(item) {
            tally.replacements += 1
            forget(replaced, &removed)
        }
        evict(to: limits, &removed)
        tally.peakCost = max(tally.peakCost, tally.cost)
        return true
    }

    mutating func remove(_ key: CacheKey, _ removed: inout [Item]) -> MemoryCache.Entry? {
        guard let item = table.remove(key) else { return nil }
        tally.removals += 1
        forget(item, &removed)
        return item.entry
    }

    /// Evicts the least recently used entries until `limits` are met, at most that many.
    mutating func evict(to limits: Limits, atMost most: Int = .max, _ removed: inout [Item]) {
        var left = most
        while tally.cost > limits.cost || table.count > limits.count, left > 0,
            let item = table.removeOldest()
        {
            left -= 1
            tally.evictions += 1
            forget(item, &removed)
        }
    }

    /// Removes everything, counted as that.
    mutating func empty(_ counter: WritableKeyPath<MemoryCache.Counts, Int>) -> RecencyTable {
        let removed = table
        table = RecencyTable()
        tally[keyPath: counter] += removed.count
        tally.cost = 0
        dataBytes = 0
        return removed
    }

    private mutating func forget(_ item: Item, _ removed: inout [Item]) {
        tally.cost -= item.cost
        dataBytes -= item.entry.data.count
        removed.append(item)
    }
}
