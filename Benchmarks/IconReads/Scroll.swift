import Foundation
import LarderIcons

/// A scroll through a million rows with an `IconLoader` at full speed. Prints the resident memory.
enum Scroll {
    private static let rows = 1_000_000
    private static let visible = 12
    private static let ahead = 24

    static func run() async throws {
        try await IconDirectory.temporary { root in
            let directory = root.appendingPathComponent("cache")
            try IconDirectory.fill(directory.path, 0..<rows, contents: 1_000)
            print("row, resident MB and entries in memory during a scroll over \(rows) rows:")
            let memory = MemoryCache(pressure: nil)
            let loader = IconLoader(cache: IconCache(directory: directory, memory: memory))
            var shown = 0
            let start = ContinuousClock.now
            for top in stride(from: 0, to: rows, by: visible) {
                let next = min(rows, top + visible)
                loader.prefetch((next..<min(rows, next + ahead)).map(url))
                for row in top..<next {
                    let entry = try await loader.icon(for: url(row), priority: .veryHigh)
                    if entry.data.count >= 3_500 { shown += 1 }
                }
                loader.stopPrefetching((top..<next).map(url))
                if next % 100_000 < visible {
                    let resident = Double(residentMemory() ?? 0) / 1e6
                    print(next, String(format: "%.1f", resident), memory.counts.entries)
                }
            }
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            print("\(shown) icons shown in \(String(format: "%.1f", seconds)) s, \(memory.counts)")
        }
    }

    private static func url(_ row: Int) -> URL { URL(string: Lookups.key(row))! }
}
