import Foundation
import LarderIcons
import LarderTestSupport
import Testing

/// Sixteen threads that use one memory cache. It must return the right entries, and its counts must
/// add up.
@Suite struct MemoryCacheStressTests {
    private static let threads = 16
    private static let keys = (0..<500).map { "https://example.com/\($0).png" }

    /// The operations and the errors of one thread.
    private struct Account: Sendable {
        var lookups = 0
        var kept = 0
        var wrong: [String] = []
    }

    /// Returns an entry whose bytes repeat the number of its key.
    private static func entry(_ number: Int, size: Int) -> MemoryCache.Entry {
        let word = withUnsafeBytes(of: number) { Array($0) }
        return MemoryCache.Entry(
            data: Data((0..<size).map { word[$0 % word.count] }), mediaType: keys[number],
            source: .disk)
    }

    private static func isOf(_ number: Int, _ entry: MemoryCache.Entry) -> Bool {
        let word = withUnsafeBytes(of: number) { Array($0) }
        return entry.mediaType == keys[number]
            && entry.data.enumerated().allSatisfy { $1 == word[$0 % word.count] }
    }

    private static func work(
        on cache: MemoryCache, seed: Int, limit: Int, pressure: MemoryPressure, isDisturbing: Bool
    ) -> Account {
        var random = Pseudorandom(seed: seed)
        var account = Account()
        for _ in 0..<10_000 {
            let number = random.next(below: keys.count)
            switch random.next(below: 1_000) {
            case 0..<600:
                account.lookups += 1
                if let entry = cache.entry(for: keys[number]), !isOf(number, entry) {
                    account.wrong.append("an entry of another key for \(keys[number])")
                }
            case 600..<950:
                let entry = entry(number, size: 8 + random.next(below: 200))
                if cache.insert(entry, for: keys[number]) { account.kept += 1 }
            case 950..<990:
                if let entry = cache.remove(keys[number]), !isOf(number, entry) {
                    account.wrong.append("an entry of another key removed for \(keys[number])")
                }
            case 990..<993 where isDisturbing:
                cache.trim(toCost: random.next(below: limit))
            case 993..<995 where isDisturbing:
                pressure.report(random.next(below: 4) == 0 ? .critical : .warning)
            case 995..<996 where isDisturbing:
                cache.removeAll()
            case 996..<998 where isDisturbing:
                cache.countLimit = 10 + random.next(below: 500)
            default:
                let counts = cache.counts
                if counts.cost > limit || counts.peakCost > limit {
                    account.wrong.append("a cost of \(counts.cost), peak \(counts.peakCost)")
                }
                if counts.insertions
                    != counts.entries + counts.replacements + counts.evictions + counts.removals
                {
                    account.wrong.append("counts that do not add up: \(counts)")
                }
            }
        }
        return account
    }

    @Test(.timeLimit(.minutes(30)), arguments: [false, true])
    func sixteenThreadsGetTheRightEntries(_ isDisturbing: Bool) async throws {
        let limit = 100 * MemoryCache.entryOverhead
        let pressure = MemoryPressure()
        let cache = MemoryCache(costLimit: limit, pressure: pressure)
        let accounts = await withTaskGroup(of: Account.self) { group in
            for seed in 0..<Self.threads {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        Thread.detachNewThread {
                            continuation.resume(
                                returning: Self.work(
                                    on: cache, seed: seed, limit: limit, pressure: pressure,
                                    isDisturbing: isDisturbing))
                        }
                    }
                }
            }
            return await group.reduce(into: [Account]()) { $0.append($1) }
        }
        #expect(accounts.count == Self.threads)
        #expect(accounts.flatMap(\.wrong).isEmpty)
        let counts = cache.counts
        #expect(counts.hits + counts.misses == accounts.reduce(0) { $0 + $1.lookups })
        #expect(counts.insertions == accounts.reduce(0) { $0 + $1.kept })
        #expect(
            counts.insertions
                == counts.entries + counts.replacements + counts.evictions + counts.removals)
        #expect(counts.hits > 1_000 && counts.evictions > 1_000)
        let left = try Self.keys.filter(cache.contains).reduce(0) { cost, key in
            cost + MemoryCache.cost(of: try #require(cache.entry(for: key)), for: key)
        }
        #expect(left == counts.cost)
        cache.trim(toCost: 0)
        #expect(cache.counts.entries == 0 && cache.counts.cost == 0)
    }
}
