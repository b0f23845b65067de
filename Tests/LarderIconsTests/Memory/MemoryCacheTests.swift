import Foundation
import LarderIcons
import LarderTestSupport
import Testing

@Suite struct MemoryCacheTests {
    private func entry(_ size: Int, _ byte: UInt8 = 1) -> MemoryCache.Entry {
        MemoryCache.Entry(data: Data(repeating: byte, count: size), source: .disk)
    }

    /// Returns an entry with this total cost.
    private func entry(costing cost: Int, for key: String) -> MemoryCache.Entry {
        entry(cost - MemoryCache.cost(of: entry(0), for: key))
    }

    /// Returns a cache with `count` entries of cost 1,000. Their keys are numbers, oldest first.
    private func cache(
        of count: Int, costLimit: Int = .max, pressure: MemoryPressure? = nil
    ) -> MemoryCache {
        let cache = MemoryCache(costLimit: costLimit, pressure: pressure)
        for number in 0..<count {
            cache.insert(entry(costing: 1_000, for: "\(number)"), for: "\(number)")
        }
        return cache
    }

    @Test func anInsertedEntryIsFoundUnchanged() throws {
        let cache = MemoryCache(pressure: nil)
        let icon = MemoryCache.Entry(
            data: Data([1, 2, 3]), mediaType: "image/png", source: .network)
        #expect(cache.insert(icon, for: "a"))
        let found = try #require(cache.entry(for: "a"))
        #expect(found.data == Data([1, 2, 3]))
        #expect(found.mediaType == "image/png")
        #expect(found.source == .network)
        #expect(cache.entry(for: "b") == nil)
        let counts = cache.counts
        #expect((counts.hits, counts.misses, counts.insertions) == (1, 1, 1))
        #expect((counts.entries, counts.evictions) == (1, 0))
        #expect(counts.cost == MemoryCache.cost(of: icon, for: "a"))
    }

    @Test func theLeastRecentlyUsedEntryIsEvictedFirst() {
        let cache = cache(of: 10, costLimit: 10_000)
        #expect(cache.counts.cost == 10_000)
        #expect(cache.entry(for: "0") != nil)
        cache.insert(entry(costing: 1_000, for: "new"), for: "new")
        #expect(cache.contains("0"), "a lookup is a use")
        #expect(!cache.contains("1"))
        #expect(cache.counts.cost == 10_000 && cache.counts.evictions == 1)
    }

    @Test func containsIsNeitherAUseNorCounted() {
        let cache = cache(of: 10, costLimit: 10_000)
        #expect(cache.contains("0"))
        cache.insert(entry(costing: 1_000, for: "new"), for: "new")
        #expect(!cache.contains("0"))
        #expect(cache.counts.hits == 0 && cache.counts.misses == 0)
    }

    @Test func replacingAnEntryIsAUseAndCostsOnce() throws {
        let cache = cache(of: 10, costLimit: 10_000)
        cache.insert(entry(costing: 2_000, for: "0"), for: "0")
        #expect(cache.counts.cost == 10_000)
        #expect(cache.counts.entries == 9 && cache.counts.replacements == 1)
        #expect(cache.contains("0") && !cache.contains("1"))
    }

    @Test func anEntryAboveItsShareOfTheLimitIsRefused() {
        let cache = cache(of: 8, costLimit: 10_000)
        #expect(cache.entryCostLimit == 2_500)
        #expect(cache.insert(entry(costing: 2_500, for: "a"), for: "a"))
        #expect(!cache.insert(entry(costing: 2_501, for: "b"), for: "b"))
        #expect(!cache.contains("b"))
        #expect(cache.counts.entries == 8 && cache.counts.refusals == 1)
    }

    /// Otherwise, the old icon would be shown as long as the new one is too large.
    @Test func aRefusedEntryRemovesTheOldEntryOfItsKey() {
        let cache = cache(of: 8, costLimit: 10_000)
        #expect(!cache.insert(entry(costing: 9_000, for: "3"), for: "3"))
        #expect(cache.entry(for: "3") == nil)
        #expect(cache.counts.removals == 1 && cache.counts.cost == 7_000)
    }

    @Test(arguments: [(0.0, 0), (-1, 0), (.nan, 0), (0.5, 5_000), (1, 10_000), (7, 10_000)])
    func theLimitOfAnEntryIsAShareOfTheCostLimit(_ share: Double, _ limit: Int) {
        let cache = MemoryCache(costLimit: 10_000, entryShare: share, pressure: nil)
        #expect(cache.entryCostLimit == limit)
        let largest = entry(costing: max(limit, 1_000), for: "a")
        #expect(cache.insert(largest, for: "a") == (limit > 0))
    }

    @Test func loweringALimitEvictsEntriesAtOnce() {
        let cache = cache(of: 1_000)
        cache.costLimit = 10_500
        #expect(cache.counts.cost == 10_000)
        #expect(!cache.contains("989") && cache.contains("990"))
        cache.countLimit = 3
        #expect(cache.counts.entries == 3)
        #expect(!cache.contains("996") && cache.contains("997"))
        #expect(cache.counts.evictions == 997)
        cache.costLimit = .max
        #expect(cache.counts.entries == 3)
    }

    @Test(arguments: [0, -1, .min])
    func aLimitOfZeroOrLessKeepsNoEntries(_ limit: Int) {
        for cache in [
            MemoryCache(costLimit: limit, pressure: nil),
            MemoryCache(countLimit: limit, pressure: nil),
        ] {
            #expect(!cache.insert(entry(1), for: "a"))
            #expect(cache.entry(for: "a") == nil)
            #expect(cache.counts.cost == 0)
        }
    }

    @Test func maximumLimitsDoNotOverflow() {
        let cache = MemoryCache(costLimit: .max, countLimit: .max, entryShare: 1, pressure: nil)
        #expect(cache.entryCostLimit == .max)
        #expect(cache.insert(entry(1_000_000), for: "a"))
    }

    @Test func removalsAreNotCountedAsEvictions() {
        let cache = cache(of: 10)
        #expect(cache.remove("4")?.data.isEmpty == false)
        #expect(cache.remove("4") == nil)
        #expect(cache.counts.removals == 1 && cache.counts.cost == 9_000)
        cache.removeAll()
        let counts = cache.counts
        #expect((counts.entries, counts.cost, counts.removals, counts.evictions) == (0, 0, 10, 0))
        #expect(counts.peakCost == 10_000)
        cache.insert(entry(1), for: "4")
        #expect(cache.entry(for: "4") != nil)
    }

    @Test func trimmingKeepsTheMostRecentlyUsedEntries() {
        let cache = cache(of: 2_000)
        cache.trim(toCost: 700_999)
        #expect(cache.counts.cost == 700_000)
        #expect(!cache.contains("1299") && cache.contains("1300"))
        cache.trim(toCost: 800_000)
        #expect(cache.counts.cost == 700_000)
        cache.trim(toCost: 0)
        #expect(cache.counts.entries == 0 && cache.counts.evictions == 2_000)
    }

    @Test func tinyEntriesCannotExceedTheCostLimit() {
        let cache = MemoryCache(costLimit: 1 << 20, pressure: nil)
        for number in 0..<50_000 { cache.insert(entry(1), for: "\(number)") }
        // The table, the key and the allocation of an entry take at least 200 bytes.
        #expect(cache.counts.entries < (1 << 20) / 200)
        #expect(cache.counts.peakCost <= 1 << 20)
    }

    @Test func longKeysAndMediaTypesAddToTheCost() {
        let plain = MemoryCache.cost(of: entry(10), for: "a")
        let typed = MemoryCache.Entry(
            data: Data(count: 10), mediaType: String(repeating: "x", count: 1_000), source: .disk)
        #expect(MemoryCache.cost(of: typed, for: "a") == plain + 1_000)
        let key = String(repeating: "é", count: 1_000)
        #expect(MemoryCache.cost(of: entry(10), for: key) == plain + 1_999)
    }

    @Test func keysOfTheMemoryCacheAreComparedAsBytes() {
        let cache = MemoryCache(pressure: nil)
        cache.insert(entry(1, 1), for: "caf\u{E9}")
        cache.insert(entry(1, 2), for: "cafe\u{301}")
        #expect(cache.entry(for: "caf\u{E9}")?.data == Data([1]))
        #expect(cache.entry(for: "cafe\u{301}")?.data == Data([2]))
        cache.insert(entry(1, 3), for: "")
        #expect(cache.entry(for: "")?.data == Data([3]))
    }

    /// Comparing keys as `String` would sort the marks in quadratic time, which takes minutes.
    @Test(.timeLimit(.minutes(1))) func keysWithManyCombiningMarksAreComparedQuickly() {
        let marks = String(repeating: "\u{316}\u{301}", count: 200_000)
        let cache = MemoryCache(pressure: nil)
        cache.insert(entry(1), for: "a" + marks)
        #expect(cache.entry(for: "a" + marks) != nil)
        #expect(cache.entry(for: "b" + marks) == nil)
    }

    @Test func aSliceOfABufferDoesNotRetainTheBuffer() {
        let freed = Count()
        let cache = MemoryCache(pressure: nil)
        do {
            let whole = tracked(10_000) { freed.add() }
            let part = MemoryCache.Entry(data: whole[9_000...], source: .network)
            cache.insert(part, for: "a")
            #expect(part.data.count == 1_000 && part.data.startIndex == 0)
        }
        #expect(freed.value == 1)
        #expect(cache.counts.entries == 1)
    }

    @Test func evictedReplacedAndRemovedEntriesAreFreed() {
        let freed = Count()
        func insert(_ key: String, into cache: MemoryCache) {
            cache.insert(
                MemoryCache.Entry(data: tracked { freed.add() }, source: .disk), for: key)
        }
        do {
            let cache = MemoryCache(countLimit: 10, pressure: nil)
            for number in 0..<25 { insert("\(number)", into: cache) }
            #expect(freed.value == 15)
            insert("24", into: cache)
            #expect(freed.value == 16)
            cache.remove("24")
            #expect(freed.value == 17)
            cache.trim(toCost: cache.counts.cost - 1)
            #expect(freed.value == 18)
            cache.removeAll()
            #expect(freed.value == 26)
            for number in 0..<5 { insert("\(number)", into: cache) }
            cache.respond(to: .critical)
            #expect(freed.value == 31)
            for number in 0..<5 { insert("\(number)", into: cache) }
        }
        #expect(freed.value == 36)
    }

    /// An app's deallocator may use the cache, so no lock may be held while it runs.
    @Test func aDeallocatorMayUseTheCache() {
        let uses = Count()
        let ended = ends {
            let cache = MemoryCache(countLimit: 5, pressure: nil)
            func insert(_ number: Int) {
                let data = tracked { [weak cache] in
                    _ = cache?.counts
                    uses.add()
                }
                cache.insert(MemoryCache.Entry(data: data, source: .disk), for: "\(number)")
            }
            for number in 0..<10 { insert(number) }
            insert(9)
            cache.remove("9")
            cache.countLimit = 3
            cache.trim(toCost: cache.counts.cost - 1)
            cache.removeAll()
            insert(1)
            cache.respond(to: .critical)
        }
        #expect(ended, "a lock is held while memory is freed")
        #expect(uses.value == 12)
    }

    @Test func theCacheIsUsableWhileThousandsOfEntriesAreEvicted() {
        let seen = Count()
        let cache = MemoryCache(pressure: nil)
        for number in 0..<2_000 {
            let data = tracked { [weak cache] in
                if seen.value == 0 { seen.add(cache?.counts.entries ?? 0) }
            }
            cache.insert(MemoryCache.Entry(data: data, source: .disk), for: "\(number)")
        }
        cache.trim(toCost: 0)
        #expect(seen.value >= 1_000, "the first entry is freed while most entries remain")
        #expect(cache.counts.entries == 0)
    }

    @Test func aWarningEvictsHalfAndCriticalPressureEverything() {
        let pressure = MemoryPressure()
        let cache = cache(of: 1_001, pressure: pressure)
        pressure.report(.normal)
        #expect(cache.counts.entries == 1_001)
        pressure.report(.warning)
        #expect(cache.counts.cost == 500_000)
        #expect(cache.contains("1000") && !cache.contains("500"))
        pressure.report(.critical)
        let counts = cache.counts
        #expect((counts.entries, counts.cost, counts.evictions) == (0, 0, 1_001))
        cache.insert(entry(1), for: "a")
        #expect(cache.entry(for: "a") != nil)
    }
}
