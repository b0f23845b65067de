import Foundation
import LarderIcons

/// Reads from files in the kernel's page cache, compared with `read(2)`.
enum DiskReads {
    private static let count = 5_000

    static func run(rounds: Int) async throws {
        try await IconDirectory.temporary { root in
            let directory = root.appendingPathComponent("cache")
            let files = try IconDirectory.fill(
                directory.path, 0..<count, contents: count, listsFiles: true)
            let urls = (0..<count).map { URL(string: Lookups.key($0))! }
            var rates: [String: [Double]] = [:]
            for _ in 0..<rounds {
                for readers in [1, 2] {
                    rates["read(2), \(readers)", default: []].append(
                        await rate(files, readers) { try bytes(ofFile: $0) })
                    // Without a memory cache, each read uses the file.
                    let icons = IconCache(
                        directory: directory, memory: MemoryCache(costLimit: 0, pressure: nil))
                    for name in ["first read", "later reads"] {
                        rates["\(name), \(readers)", default: []].append(
                            await rate(urls, readers) { try await icons.data(for: $0)?.count ?? 0 })
                    }
                    await icons.flush()
                }
            }
            print("thousands of icons per second from disk, \(rounds) rounds: median")
            for name in rates.keys.sorted() {
                guard let sorted = rates[name]?.sorted() else { continue }
                let label = name.padding(toLength: 14, withPad: " ", startingAt: 0)
                print("\(label) concurrent", String(format: "%7.1f", sorted[rounds / 2] / 1e3))
            }
        }
    }

    private static func bytes(ofFile path: String) throws -> Int {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        var status = stat()
        guard file >= 0, fstat(file, &status) == 0 else { return 0 }
        var data = Data(count: Int(status.st_size))
        return data.withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
    }

    /// Returns the number of items per second. Each of the `readers` tasks reads all items.
    private static func rate<Item: Sendable>(
        _ items: [Item], _ readers: Int, _ body: @escaping @Sendable (Item) async throws -> Int
    ) async -> Double {
        let start = ContinuousClock.now
        await withTaskGroup(of: Void.self) { group in
            for reader in 0..<readers {
                group.addTask {
                    // Each task starts at a different item, because concurrent reads of one item
                    // are shared.
                    let first = items.count * reader / readers
                    for place in items.indices {
                        let item = items[(first + place) % items.count]
                        guard (try? await body(item)) ?? 0 > 0 else {
                            preconditionFailure("an icon was not read")
                        }
                    }
                }
            }
        }
        return Double(items.count * readers) / ((ContinuousClock.now - start) / .seconds(1))
    }
}
