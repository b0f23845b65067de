import LarderCore

/// The entries and counters of a ``MemoryCache``. Functions pass removed items to the caller, which
/// frees them without the lock.
struct MemoryStore {
    typealias Item = RecencyTable.Item

    struct Limits {
        var cost: Int
        var count = Int.max
    }

    private var table = RecencyTable()
    private var tally = MemoryCache.Counts()
    private(set) var dataBytes = 0
    private let entryShare: Double
    var limits: Limits

    init(_ limits: Limits, entryShare: Double) {
        self.limits = limits
        self.entryShare = entryShare
    }

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

    mutating func insert(_ item: Item, _ removed: inout [Item]) -> Bool {
        guard item.cost <= entryCostLimit, limits.count > 0 else {
            tally.refusals += 1
            // The previous item of the key is outdated.
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

/// Entries by key, in the order of their last use. Operations take constant time. The order is a
/// doubly linked ring in an array, which needs no object per entry.
struct RecencyTable {
    struct Item {
        let key: CacheKey
        let entry: MemoryCache.Entry
        let cost: Int

        /// The item of a free place. An optional would copy the key at each look-up.
        fileprivate static let none = Item(
            key: CacheKey(""), entry: MemoryCache.Entry(data: .init(), source: .disk), cost: 0)
    }

    /// The links of a place in the ring. Four-byte indices suffice for 800 GB of entries, and many
    /// links fit into a core's cache.
    private struct Link {
        /// The next more recently used place. At the ring's end, the least recently used place.
        var newer: Int32 = 0
        /// The next less recently used place. At the ring's end, the most recently used place. In a
        /// free place, the next free place.
        var older: Int32 = 0
    }

    /// The ring's sentinel, which also ends the list of free places.
    private static let end: Int32 = 0

    private var places: [CacheKey: Int32] = [:]
    private var links: ContiguousArray = [Link()]
    private var items: ContiguousArray = [Item.none]
    private var free = end

    var count: Int { places.count }
    func contains(_ key: CacheKey) -> Bool { places[key] != nil }

    mutating func use(_ key: CacheKey) -> MemoryCache.Entry? {
        guard let place = places[key] else { return nil }
        makeNewest(place)
        return items[Int(place)].entry
    }

    mutating func insert(_ item: Item) -> Item? {
        if let place = places[item.key] {
            makeNewest(place)
            let replaced = items[Int(place)]
            items[Int(place)] = item
            return replaced
        }
        let place: Int32
        if free != Self.end {
            place = free
            free = links[Int(place)].older
            items[Int(place)] = item
        } else {
            place = Int32(items.count)
            links.append(Link())
            items.append(item)
        }
        places[item.key] = place
        links.withUnsafeMutableBufferPointer { Self.link(place, in: $0) }
        return nil
    }

    mutating func remove(_ key: CacheKey) -> Item? {
        places.removeValue(forKey: key).map { vacate($0) }
    }

    mutating func removeOldest() -> Item? {
        let place = links[Int(Self.end)].newer
        guard place != Self.end else { return nil }
        places[items[Int(place)].key] = nil
        return vacate(place)
    }

    private mutating func vacate(_ place: Int32) -> Item {
        let item = items[Int(place)]
        items[Int(place)] = .none
        links.withUnsafeMutableBufferPointer { Self.unlink(place, in: $0) }
        links[Int(place)].older = free
        free = place
        return item
    }

    private mutating func makeNewest(_ place: Int32) {
        links.withUnsafeMutableBufferPointer { links in
            guard links[Int(Self.end)].older != place else { return }
            Self.unlink(place, in: links)
            Self.link(place, in: links)
        }
    }

    private static func link(_ place: Int32, in links: UnsafeMutableBufferPointer<Link>) {
        let newest = links[Int(end)].older
        links[Int(place)] = Link(newer: end, older: newest)
        links[Int(newest)].newer = place
        links[Int(end)].older = place
    }

    private static func unlink(_ place: Int32, in links: UnsafeMutableBufferPointer<Link>) {
        let link = links[Int(place)]
        links[Int(link.older)].newer = link.newer
        links[Int(link.newer)].older = link.older
    }
}
