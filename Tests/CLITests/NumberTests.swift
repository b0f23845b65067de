import Foundation
import GRDB
import LarderTestSupport
import Testing

/// The syntax of sizes, rates and durations in options.
@Suite struct NumberTests {
    private func withObject(_ body: (CLIFixture, DatabaseQueue) throws -> Void) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            try #require(try larder.prefetch(manifest).status == 0)
            let index = try DatabaseQueue(path: "\(larder.cache)/index.sqlite")
            try body(larder, index)
            try index.close()
        }
    }

    /// Whether the limit would evict the only object.
    private func isEvicted(_ larder: CLIFixture, _ option: String, _ value: String) throws -> Bool {
        let finished = try larder.run("evict", "--dry-run", "--json", option, value)
        let report = try JSONValue.lines(finished.standardOutputBytes).last
        return try #require(report?["evicted_objects"]?.integer, "\(finished)") == 1
    }

    @Test func aSizeIsANumberAndAUnit() async throws {
        let sizes: [(String, Int64)] = [
            ("0", 0), ("500", 500), ("500B", 500), ("500b", 500), ("500k", 500_000),
            ("500kB", 500_000), ("500kb", 500_000), ("500KB", 500_000), ("500m", 500_000_000),
            ("500MB", 500_000_000), ("500MiB", 500 << 20), ("500mib", 500 << 20),
            ("1.5G", 1_500_000_000), ("1.50GB", 1_500_000_000), ("1.5GiB", 3 << 29),
            (".5k", 500), ("0.3kB", 300), ("1.0005k", 1000), ("1t", 1_000_000_000_000),
            ("0.5TiB", 1 << 39),
        ]
        try await withObject { larder, index in
            for (text, size) in sizes {
                for isMore in [false, true] {
                    try index.write {
                        try $0.execute(
                            sql: "UPDATE objects SET size = ?", arguments: [size + (isMore ? 1 : 0)]
                        )
                    }
                    #expect(try isEvicted(larder, "--max-size", text) == isMore, "\(text)")
                }
            }
        }
    }

    @Test func aDurationIsASumOfNumbersAndUnits() async throws {
        let durations: [(String, Int)] = [
            ("0", 0), ("5400", 5400), ("5400s", 5400), ("5400000ms", 5400), ("90m", 5400),
            ("1.5h", 5400), ("1h30m", 5400), ("1H29m60s", 5400), ("0.0625d", 5400),
            ("12h", 43_200), ("30d", 2_592_000), ("1w", 604_800), ("1w2d", 777_600),
        ]
        let tolerance = 600
        try await withObject { larder, index in
            for (text, seconds) in durations {
                for isOlder in [false, true] {
                    let age = seconds + (isOlder ? tolerance : -tolerance)
                    try index.write {
                        try $0.execute(
                            sql: "UPDATE objects SET used_at = unixepoch() - ?", arguments: [age])
                    }
                    #expect(try isEvicted(larder, "--max-age", text) == isOlder, "\(text)")
                }
            }
        }
    }

    @Test(arguments: [
        ("evict", "--max-size", "size"), ("evict", "--min-free", "size"),
        ("evict", "--max-age", "time"), ("evict", "--grace", "time"), ("evict", "--wait", "time"),
        ("plan", "--max-object-size", "size"), ("plan", "--max-manifest-size", "size"),
        ("plan", "--limit-rate", "rate"), ("plan", "--connect-timeout", "time"),
        ("plan", "--stall-timeout", "time"), ("plan", "--timeout", "time"),
        ("plan", "--retry-max-time", "time"), ("plan", "--failure-ttl", "time"),
        ("plan", "--rate-per-host", "number/s"), ("verify", "--max-duration", "time"),
    ])
    func everyOptionReadsNumbersAndUnitsTheSameWay(
        _ command: String, _ option: String, _ kind: String
    ) throws {
        let (valid, invalid): ([String], [String]) =
            switch kind {
            case "size": (["5000", "5.5kB", "9223372036854775807"], ["5 kB", "5.5", "5Mb"])
            case "rate": (["5000", "5.5kB/s"], ["0", "5Mb/s", "5kB/h"])
            case "time": (["5", "5ms", "1h30m", "36525d"], ["5M", "1h30", "99999999d"])
            default: (["5", "0.5", "5\(kind.dropFirst(6))"], ["nan", "5e0", "5q"])
            }
        let larder = try LarderBinary()
        let absent = "/absent/\(UUID())"
        let rest = ["evict", "verify"].contains(command) ? ["--cache", absent] : [absent]
        for value in share(of: valid) {
            let finished = try larder.run([command] + rest + ["\(option)=\(value)"])
            #expect(finished.status == 66, "\(value): \(finished)")
        }
        for value in share(of: invalid) {
            let finished = try larder.run([command] + rest + ["\(option)=\(value)"])
            #expect(finished.status == 64, "\(value): \(finished)")
            #expect(finished.standardError.hasPrefix("Error: The value "), "\(finished)")
        }
    }

    @Test(arguments: [
        ("--max-size", ["k", "5kBs", "5.kB", "5,5k", "5iB", "5P", "0x5k", "-5k", "9999999999G"]),
        ("--max-age", ["s", "5y", "30m1h", "1h1h", "5.s", "1h-5m", "9999999999999999999"]),
    ])
    func malformedSizesAndDurationsAreRefused(_ option: String, _ values: [String]) throws {
        for value in values {
            let finished = try LarderBinary().run(["evict", "\(option)=\(value)"])
            #expect(finished.status == 64, "\(value): \(finished)")
            let size = value == "9999999999G" ? "too large" : "expected a number of bytes"
            let form = option == "--max-size" ? size : "expected seconds"
            #expect(finished.standardError.contains(form), "\(finished)")
        }
    }
}
