import Foundation
import LarderTestSupport

extension CLIFixture {
    /// Prefetches with one attempt for each URL. Only `options` can permit private addresses.
    func prefetchGuarded(
        _ manifest: String, _ options: [String] = [], environment: [String: String] = [:]
    ) throws -> PrefetchRun {
        let report = directory.path("report.jsonl")
        let arguments =
            ["prefetch", manifest, "--json", "--report", report, "--cache", cache]
            + ["--attempts", "1"] + options
        return try PrefetchRun(
            binary.run(arguments, environment: environment), report: report)
    }
}
