import Foundation
import LarderCache
import LarderTestSupport
import Testing

@testable import LarderPrefetch

/// Lookups in an index that has other rows between the wanted ones and lacks some of them.
@Suite struct PlanLookupTests {
    private static let known = Set(stride(from: 10, to: 400, by: 3))

    @Test func everyKnownKeyIsFoundAmongOtherRows() async throws {
        // These keys sort like their numbers.
        try await withCache(keys: { String(format: "k%04d", $0) }) { cached in
            var generator = Pseudorandom(seed: 4)
            let wanted: [[Int]] =
                [
                    Array(Self.known), Array(0..<420), [0], [10], [397], [399], [0, 419],
                    Array(stride(from: 10, to: 400, by: 30)),
                    [10, 13, 16, 100, 103, 104, 400, 401],
                ]
                + (1...20).map { step in
                    (0..<420).filter { _ in generator.next(below: step) == 0 }
                }
            for numbers in wanted {
                let found = try cached(numbers)
                #expect(found == Self.known.intersection(numbers))
            }
        }
    }

    /// Some keys are prefixes of others. Their characters have one to four bytes.
    @Test func keysAreComparedAsBytes() async throws {
        let letters = ["a", "é", "e\u{301}", "😀", "\u{80}", "\u{ffff}"]
        func key(_ number: Int) -> String {
            var (rest, key) = (number + 1, "")
            while rest > 0 {
                key += letters[(rest - 1) % letters.count]
                rest = (rest - 1) / letters.count
            }
            return key
        }
        try await withCache(keys: key) { cached in
            for numbers in [Array(0..<420), Array(Self.known)] {
                let found = try cached(numbers)
                #expect(found == Self.known)
            }
        }
    }

    @Test func aDamagedKeyDoesNotHideOtherKeys() async throws {
        try await withCache(keys: { String(format: "k%04d", $0) }) { cached in
            let found = try cached(Array(0..<420))
            #expect(found == Self.known)
        } damage: { index in
            var bytes = try Data(contentsOf: URL(fileURLWithPath: index))
            var flipped = 0
            while let range = bytes.range(of: Data("k0100".utf8)) {
                bytes[range.lowerBound] ^= 0x10
                flipped += 1
            }
            #expect(flipped >= 2)
            try bytes.write(to: URL(fileURLWithPath: index))
        } after: { cached in
            let found = try cached(Array(0..<420))
            #expect(found.isSubset(of: Self.known) && found.count >= Self.known.count - 3)
        }
    }

    // MARK: -

    /// Fills a cache with the known keys and checks which of some numbers are cached.
    ///
    /// - Parameters:
    ///   - body: Receives a lookup in the intact cache.
    ///   - damage: Receives the path of the index.
    ///   - after: Receives a lookup in the damaged cache.
    private func withCache(
        keys: @escaping (Int) -> String, body: (([Int]) throws -> Set<Int>) throws -> Void,
        damage: (String) throws -> Void = { _ in },
        after: (([Int]) throws -> Set<Int>) throws -> Void = { _ in }
    ) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            // Inline icons need no origin.
            func manifest(_ numbers: some Sequence<Int>) -> String {
                let entries = numbers.map {
                    #"{"name":"\#($0)","key":"\#(keys($0))","icon":"data:text/plain,\#($0)"}"#
                }
                return "[\(entries.joined(separator: ","))]"
            }
            func cached(_ numbers: [Int]) throws -> Set<Int> {
                let planner = Planner(cache: try Cache.open(at: path), acceptsAnyContent: true)
                var cached: Set<Int> = []
                _ = try planner.plan(
                    [.bytes(Array(manifest(numbers).utf8), name: "apps.json")]
                ) { entry in
                    if entry.status == .cached { cached.insert(Int(entry.name) ?? -1) }
                }
                return cached
            }
            _ = try await prefetch(manifest(Self.known), into: path) { $0.acceptsAnyContent = true }
            try body(cached)
            try damage(path + "/index.sqlite")
            try after(cached)
        }
    }
}
