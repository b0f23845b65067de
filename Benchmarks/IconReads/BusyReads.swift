import Foundation
import LarderIcons

/// The latency of disk reads, alone and while other processes store and evict.
enum BusyReads {
    private static let count = 2_000
    private static let reads = 20_000

    static func run() async throws {
        try await IconDirectory.temporary { root in
            let directory = root.appendingPathComponent("cache")
            try IconDirectory.fill(directory.path, 0..<count, contents: count)
            print("microseconds per read from disk, \(reads) reads: p50, p99, p99.9, maximum")
            try await measure("alone", directory)
            let children = try ["store", "evict"].map { part in
                let child = Process()
                child.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
                child.arguments = [part, directory.path]
                try child.run()
                return child
            }
            defer { children.forEach { $0.terminate() } }
            try await measure("during stores and evictions", directory)
        }
    }

    private static func measure(_ name: String, _ directory: URL) async throws {
        let icons = IconCache(
            directory: directory, memory: MemoryCache(costLimit: 0, pressure: nil))
        let lookups = Lookups(of: count, in: reads)
        var times: [Double] = []
        var misses = 0
        for number in lookups.order {
            let url = URL(string: lookups.keys[number])!
            let start = ContinuousClock.now
            // An evicted icon is a miss.
            if try await icons.data(for: url) == nil { misses += 1 }
            times.append((ContinuousClock.now - start) / .microseconds(1))
        }
        await icons.flush()
        times.sort()
        let figures = [0.5, 0.99, 0.999, 1].map { share in
            String(format: "%9.0f", times[min(times.count - 1, Int(share * Double(times.count)))])
        }
        let label = name.padding(toLength: 31, withPad: " ", startingAt: 0)
        print(label, figures.joined(), "  \(misses) misses")
    }
}
