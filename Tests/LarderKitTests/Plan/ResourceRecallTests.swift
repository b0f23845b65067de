import Foundation
import LarderCache
import LarderTestSupport
import Testing

@testable import LarderKit

/// What a plan finds in an index that has more, and less, than is wanted.
@Suite struct ResourceRecallTests {
    @Test func whatIsThereIsFoundWhateverIsBetween() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            // A few bytes for each, which need no origin, under keys whose order is that of the numbers.
            func manifest(_ numbers: some Sequence<Int>) -> String {
                let entries = numbers.map { number in
                    let key = String(format: "k%04d", number)
                    return """
                        {"name":"\(number)","key":"\(key)","icon":"data:text/plain,\(number)"}
                        """
                }
                return "[\(entries.joined(separator: ","))]"
            }
            let known = Set(stride(from: 10, to: 400, by: 3))
            _ = try await prefetch(manifest(known), into: path) { $0.acceptsAnyContent = true }
            let planner = Planner(cache: try Cache.open(at: path), acceptsAnyContent: true)
            var generator = Pseudorandom(seed: 4)
            let wanted: [[Int]] =
                [
                    Array(known), Array(0..<420), [0], [10], [397], [399], [0, 419],
                    Array(stride(from: 10, to: 400, by: 30)),
                    [10, 13, 16, 100, 103, 104, 400, 401],
                ]
                + (1...20).map { step in
                    (0..<420).filter { _ in generator.next(below: step) == 0 }
                }
            for numbers in wanted {
                var cached: Set<Int> = []
                _ = try planner.plan(
                    [.bytes(Array(manifest(numbers).utf8), name: "apps.json")]
                ) { entry in
                    if entry.status == .cached { cached.insert(Int(entry.name) ?? -1) }
                }
                #expect(cached == known.intersection(numbers))
            }
        }
    }
}
