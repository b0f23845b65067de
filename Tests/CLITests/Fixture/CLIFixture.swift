import Foundation
import LarderTestSupport

/// An entry that a test writes into a manifest.
typealias ManifestEntry = [String: any Sendable]

/// An origin, a directory for the cache and other files, and the binary.
struct CLIFixture: Sendable {
    let origin: Origin
    let directory: TemporaryDirectory
    let binary: LarderBinary

    init(_ directory: TemporaryDirectory) throws {
        self.directory = directory
        origin = try Origin()
        binary = try LarderBinary()
    }

    /// The path of the cache, which may not exist yet.
    var cache: String { directory.path("cache") }

    // MARK: Files

    /// Writes a file and returns its path.
    func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
        let path = directory.path(name)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Writes a JSON manifest and returns its path.
    func manifest(_ entries: [ManifestEntry], name: String = "apps.json") throws -> String {
        try write(JSONSerialization.data(withJSONObject: entries), to: name)
    }

    /// Writes a manifest of URLs and returns its path. The entries are named by their places.
    func manifest(_ urls: String..., name: String = "apps.json") throws -> String {
        try manifest(urls: urls, name: name)
    }

    func manifest(urls: [String], name: String = "apps.json") throws -> String {
        try manifest(
            urls.enumerated().map { ["name": "App \($0 + 1)", "icon": $1] }, name: name)
    }

    // MARK: Commands

    func run(
        _ arguments: String..., standardInput: Data? = nil, environment: [String: String] = [:]
    ) throws -> Finished {
        try binary.run(
            arguments + ["--cache", cache], standardInput: standardInput, environment: environment)
    }

    func run(arguments: [String], environment: [String: String] = [:]) throws -> Finished {
        try binary.run(arguments + ["--cache", cache], environment: environment)
    }

    /// Prefetches with loopback addresses allowed, and reads the summary and the report.
    func prefetch(
        _ manifests: String..., options: [String] = [], standardInput: Data? = nil
    ) throws -> PrefetchRun {
        let report = directory.path("report.jsonl")
        let finished = try binary.run(
            prefetchArguments(manifests, report: report) + options, standardInput: standardInput)
        return try PrefetchRun(finished, report: report)
    }

    /// Starts a prefetch with long timeouts, because tests hold responses, and a busy machine may
    /// delay their release.
    func startPrefetch(
        _ manifest: String, report: String, options: [String] = []
    ) throws -> RunningProcess {
        let timeouts = ["--stall-timeout", "1h", "--timeout", "1h"]
        return try binary.start(
            prefetchArguments([manifest], report: report) + timeouts + options)
    }

    func prefetchArguments(_ manifests: [String], report: String) -> [String] {
        ["prefetch"] + manifests + ["--allow-private-network", "--json"]
            + ["--report", report, "--cache", cache]
    }

    func status() throws -> CacheCounts {
        try CacheCounts(run("status", "--json"))
    }

    /// The bytes that `cat` prints, or nil if its status is not 0.
    func cat(_ url: String) throws -> [UInt8]? {
        let finished = try run("cat", url)
        return finished.status == 0 ? Array(finished.standardOutputBytes) : nil
    }

    func verify() throws -> Int32 { try run("verify").status }
}

/// Runs `body` with a new fixture, and removes its files afterwards.
func withFixture(_ body: (CLIFixture) async throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
        try await onNewThreads { try await body(CLIFixture(directory)) }
    }
}
