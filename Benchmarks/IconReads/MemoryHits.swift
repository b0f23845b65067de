import Foundation
import LarderIcons

/// Measures memory hits, compared with a dictionary with a lock, and the resident memory of a cache
/// with tiny entries, compared with its limit.
func memoryHits(rounds: Int) {
    let size = 3_500
    // Measured first, because reused memory does not change the resident size.
    if let before = residentMemory() {
        let cache = MemoryCache(pressure: nil)
        for number in 0..<1_000_000 {
            cache.insert(
                MemoryCache.Entry(data: Data(count: 16), source: .disk), for: Lookups.key(number))
        }
        let counts = cache.counts
        let held = max(0, (residentMemory() ?? 0) - before)
        print(
            """
            a million insertions of 16 bytes: \(counts.entries) entries, cost \(counts.cost), \
            resident \(held), limit \(cache.costLimit)
            """)
    }

    let lookups = Lookups(of: 1_000, in: 500_000)
    let cache = MemoryCache(pressure: nil)
    let dictionary = LockedDictionary()
    for number in 0..<lookups.keys.count {
        let data = Data(repeating: UInt8(truncatingIfNeeded: number), count: size)
        cache.insert(MemoryCache.Entry(data: data, source: .disk), for: Lookups.key(number))
        dictionary.insert(data, for: Lookups.key(number))
    }
    let ways: [(name: String, threads: Int, look: @Sendable (String) -> Int)] = [1, 2].flatMap {
        threads -> [(String, Int, @Sendable (String) -> Int)] in
        [
            ("MemoryCache", threads, { cache.entry(for: $0)?.data.count ?? 0 }),
            ("locked dictionary", threads, { dictionary.value(for: $0)?.count ?? 0 }),
        ]
    }
    var rates = ways.map { _ in [Double]() }
    for _ in 0..<rounds {
        for (index, way) in ways.enumerated() {
            rates[index].append(lookups.rate(threads: way.threads, way.look))
        }
    }

    print("millions of hits per second, \(rounds) rounds: median (minimum to maximum)")
    for (index, way) in ways.enumerated() {
        let sorted = rates[index].sorted()
        let name = way.name.padding(toLength: 18, withPad: " ", startingAt: 0)
        print(
            "\(name) \(way.threads) threads \(millions(sorted[rounds / 2]))",
            "(\(millions(sorted[0])) to \(millions(sorted[rounds - 1])))")
    }
    for threads in [1, 2] {
        let pair = rates.indices.filter { ways[$0].threads == threads }
        let ratios = zip(rates[pair[0]], rates[pair[1]]).map { $0 / $1 }.sorted()
        print("ratio, \(threads) threads:", String(format: "%.2f", ratios[rounds / 2]))
    }
}

func millions(_ rate: Double) -> String { String(format: "%6.2f", rate / 1e6) }

/// A minimal thread-safe cache without a limit.
final class LockedDictionary: @unchecked Sendable {
    // Unchecked because the state is mutable. Every access holds `lock`.
    private let lock = NSLock()
    private var values: [String: Data] = [:]

    func value(for key: String) -> Data? { lock.withLock { values[key] } }
    func insert(_ value: Data, for key: String) { lock.withLock { values[key] = value } }
}

/// Returns the resident memory in bytes, or nil without /proc.
func residentMemory() -> Int? {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
        let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
        let kibibytes = line.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Int($0) })
    else { return nil }
    return kibibytes * 1024
}
