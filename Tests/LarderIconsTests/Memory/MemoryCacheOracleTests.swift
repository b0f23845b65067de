import Foundation
import LarderIcons
import LarderTestSupport
import Testing

/// Random operations on a memory cache, compared with ``LRUModel`` after each step.
@Suite struct MemoryCacheOracleTests {
    @Test(arguments: 1...4)
    func theMemoryCacheAgreesWithItsModel(_ seed: Int) throws {
        var random = Pseudorandom(seed: seed)
        let unit = MemoryCache.entryOverhead
        let pressure = MemoryPressure()
        let cache = MemoryCache(costLimit: 30 * unit, countLimit: 50, pressure: pressure)
        var model = LRUModel(costLimit: 30 * unit, countLimit: 50)
        let keys = (0..<60).map { "https://example.com/\($0).png" }
        for step in 0..<50_000 {
            let key = keys[random.next(below: keys.count)]
            switch random.next(below: 1_000) {
            case 0..<450:
                #expect(cache.entry(for: key).map(version) == model.use(key))
            case 450..<860:
                // Some entries exceed the limit of a single entry.
                let size = 8 + random.next(below: step % 7 == 0 ? 9 * unit : unit / 2)
                let entry = entry(step, size: size)
                let cost = MemoryCache.cost(of: entry, for: key)
                #expect(cache.insert(entry, for: key) == model.insert(key, step, cost: cost))
            case 860..<920:
                #expect(cache.remove(key).map(version) == model.remove(key))
            case 920..<970:
                #expect(cache.contains(key) == model.contains(key))
            case 970..<977:
                let cost = random.next(below: 40 * unit)
                cache.trim(toCost: cost)
                model.evict(toCost: cost)
            case 977..<985:
                let cost = (5 + random.next(below: 40)) * unit
                cache.costLimit = cost
                model.limit(cost: cost)
            case 985..<992:
                let count = random.next(below: 50)
                cache.countLimit = count
                model.limit(count: count)
            case 992..<997:
                pressure.report(.warning)
                model.evict(toCost: model.counts.cost / 2)
            case 997:
                pressure.report(.critical)
                model.evict(toCost: 0)
            case 998:
                cache.removeAll()
                model.removeAll()
            default:
                pressure.report(.normal)
            }
            try #require(LRUModel.Tally(cache.counts) == model.counts, "step \(step)")
            if step.isMultiple(of: 500) {
                let held = keys.filter(cache.contains)
                try #require(held == keys.filter(model.contains), "step \(step)")
            }
        }
        let counts = cache.counts
        #expect(counts.hits > 1_000 && counts.evictions > 1_000 && counts.refusals > 100)
        #expect(counts.replacements > 1_000 && counts.removals > 100)
        // The remaining entries are evicted in order of use.
        for oldest in model.entries {
            #expect(cache.contains(oldest.key))
            cache.trim(toCost: cache.counts.cost - 1)
            #expect(!cache.contains(oldest.key))
        }
        #expect(cache.counts.entries == 0 && cache.counts.cost == 0)
    }

    /// Returns an entry whose first bytes are its version.
    private func entry(_ version: Int, size: Int) -> MemoryCache.Entry {
        var data = withUnsafeBytes(of: version) { Data($0) }
        data.append(Data(count: size - data.count))
        return MemoryCache.Entry(data: data, source: .disk)
    }

    private func version(_ entry: MemoryCache.Entry) -> Int {
        entry.data.withUnsafeBytes { $0.loadUnaligned(as: Int.self) }
    }
}
