import LarderCore

/// The entries and counters of a ``MemoryCache``. The caller frees removed items without the lock.
///
/// The entries are in the order of their last use. The order is a doubly linked ring in an array,
/// which needs no object per entry. Operations take constant time.
struct MemoryStore {
    struct Limits {
        var cost: Int
        var count = Int.max
    }

    struct Item {
        let key: CacheKey
        let entry: MemoryCache.Entry
        let cost: Int

        /// The item of a free place. An optional would copy the key at each look-up.
        fileprivate static let none = Item(
            key: CacheKey(""), entry: MemoryCache.Entry(data: .init(), source: .disk), cost: 0)
    }

    /// A place's neighbours in the order of last use. 32-bit numbers are enough for 800 GB of
    /// entries, and the array is small enough for CPU caches.
    private struct Link {
        var newer: Int32 = 0
        /// The place used just before this one or, if this place is free, the next free place.
        var older: Int32 = 0
    }

    /// The sentinel between the newest and the oldest place. It also ends the list of free places.
    private static let end: Int32 = 0
    private var places: [CacheKey: Int32] = [:]
    private var links: ContiguousArray = [Link()]
    private var items: ContiguousArray = [Item.none]
    private var free = end
    private var tally = MemoryCache.Counts()
    private(set) var dataBytes = 0
    private let entryShare: Double
    var limits: Limits

    init(_ limits: Limits, entryShare: Double) {
        (self.limits, self.entryShare) = (limits, entryShare)
    }

    var entryCostLimit: Int {
        if entryShare >= 1 { return limits.cost }
        return entryShare > 0 ? Int(Double(limits.cost) * entryShare) : 0
    }

    var counts: MemoryCache.Counts {
        var counts = tally
        counts.entries = places.count
        return counts
    }

    func contains(_ key: CacheKey) -> Bool { places[key] != nil }

    mutating func entry(for key: CacheKey) -> MemoryCache.Entry? {
        guard let place = places[key] else {
            tally.misses += 1
            return nil
        }
        tally.hits += 1
        makeNewest(place)
        return items[Int(place)].entry
    }

    mutating func insert(_ item: Item, _ removed: inout [Item]) -> Bool {
        guard item.cost <= entryCostLimit, limits.count > 0 else {
            tally.refusals += 1
            // The key's previous item is outdated.
            _ = remove(item.key, &removed)
            return false
        }
        tally.insertions += 1
        tally.cost += item.cost
        dataBytes += item.entry.data.count
        if let place = places[item.key] {
            makeNewest(place)
            tally.replacements += 1
            forget(items[Int(place)], &removed)
            items[Int(place)] = item
        } else {
            if free == Self.end {
                free = Int32(items.count)
                links.append(Link())
                items.append(.none)
            }
            let place = free
            free = links[Int(place)].older
            items[Int(place)] = item
            places[item.key] = place
            link(place)
        }
        evict(to: limits, &removed)
        tally.peakCost = max(tally.peakCost, tally.cost)
        return true
    }

    mutating func remove(_ key: CacheKey, _ removed: inout [Item]) -> MemoryCache.Entry? {
        guard let place = places.removeValue(forKey: key) else { return nil }
        tally.removals += 1
        vacate(place, &removed)
        return removed.last?.entry
    }

    mutating func evict(to limits: Limits, atMost most: Int = .max, _ removed: inout [Item]) {
        var left = most
        while tally.cost > limits.cost || places.count > limits.count, left > 0,
            case let place = links[Int(Self.end)].newer, place != Self.end
        {
            left -= 1
            tally.evictions += 1
            places[items[Int(place)].key] = nil
            vacate(place, &removed)
        }
    }

    mutating func empty(_ counter: WritableKeyPath<MemoryCache.Counts, Int>) -> MemoryStore {
        let previous = self
        self = MemoryStore(limits, entryShare: entryShare)
        tally = previous.tally
        tally[keyPath: counter] += previous.places.count
        tally.cost = 0
        return previous
    }

    private mutating func vacate(_ place: Int32, _ removed: inout [Item]) {
        forget(items[Int(place)], &removed)
        items[Int(place)] = .none
        unlink(place)
        links[Int(place)].older = free
        free = place
    }

    private mutating func forget(_ item: Item, _ removed: inout [Item]) {
        tally.cost -= item.cost
        dataBytes -= item.entry.data.count
        removed.append(item)
    }

    private mutating func makeNewest(_ place: Int32) {
        guard links[Int(Self.end)].older != place else { return }
        unlink(place)
        link(place)
    }

    private mutating func link(_ place: Int32) {
        let newest = links[Int(Self.end)].older
        links[Int(place)] = Link(newer: Self.end, older: newest)
        links[Int(newest)].newer = place
        links[Int(Self.end)].older = place
    }

    private mutating func unlink(_ place: Int32) {
        let link = links[Int(place)]
        links[Int(link.older)].newer = link.newer
        links[Int(link.newer)].older = link.older
    }
}
