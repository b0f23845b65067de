import Foundation
import LarderTestSupport
import Testing

/// A rehearsal that has ended, and the report that it printed.
struct RehearsalRun {
    let finished: Finished
    let report: [String: Any]

    /// The reports of strategies, in order.
    var strategies: [[String: Any]] { report["strategies"] as? [[String: Any]] ?? [] }

    /// A figure of the last strategy.
    func count(_ key: String) -> Int? { strategies.last?[key] as? Int }
}

/// An origin, a temporary directory, and the programs that run there.
struct RehearsalFixture: Sendable {
    let origin: Origin
    let directory: TemporaryDirectory
    let binary: LarderBinary

    init(_ directory: TemporaryDirectory) throws {
        self.directory = directory
        origin = try Origin()
        binary = try LarderBinary("rehearse")
    }

    /// Where the cache is, or will be.
    var cache: String { directory.path("cache") }

    /// Writes a file and returns its path.
    func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
        let path = directory.path(name)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Writes entries as a manifest in JSON and returns its path.
    func manifest(_ entries: [[String: any Sendable]]) throws -> String {
        try write(JSONSerialization.data(withJSONObject: entries), to: "apps.json")
    }

    /// Writes a manifest of URLs and returns its path.
    func manifest(urls: [String]) throws -> String {
        try manifest(urls.map { ["icon": $0] })
    }

    /// The arguments of a rehearsal, with loopback addresses allowed, no faster than images come.
    func arguments(_ manifest: String) -> [String] {
        [manifest, "--allow-private-network", "--wait-for-images"]
    }

    /// Rehearses and reads the report.
    func rehearse(_ manifest: String, _ options: String...) throws -> RehearsalRun {
        let finished = try binary.run(
            arguments(manifest) + ["--json"] + options,
            environment: ["TMPDIR": try temporaryDirectory()])
        let report = try JSONSerialization.jsonObject(with: Data(finished.standardOutputBytes))
        return RehearsalRun(
            finished: finished, report: try #require(report as? [String: Any], "\(finished)"))
    }

    /// Fills the cache with `larder prefetch`.
    func prefetch(_ manifest: String) throws {
        let finished = try LarderBinary().run(
            ["prefetch", manifest, "--allow-private-network", "--cache", cache])
        try #require(finished.status == 0, "\(finished)")
    }

    /// A directory for temporary files.
    func temporaryDirectory() throws -> String {
        let path = directory.path("tmp")
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// The files that rehearsals have left there.
    func leftovers() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: try temporaryDirectory())
    }

    /// A directory that is no cache and cannot become one, because a file is in the way.
    func brokenCache() throws -> String {
        let path = directory.path("broken")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return try (path, write("".utf8, to: "broken/objects")).0
    }

    /// Serves images that are padded to a size at `/0`, `/1`, … and returns the URLs.
    func serveIcons(_ count: Int, bytes: Int = 0) -> [String] {
        (0..<count).map { number in
            let icon = Self.icon(number)
            let padding = Array(repeating: UInt8(ascii: " "), count: max(0, bytes - icon.count))
            origin.on("/\(number)", .ok(icon + padding, type: "image/svg+xml"))
            return origin.url("/\(number)")
        }
    }

    /// An icon of its own for each seed.
    static func icon(_ seed: Int) -> [UInt8] { IconPainter.svg(seed: seed, size: 16) }
}

/// Runs `body` with a fixture of its own, and removes everything afterwards.
func withFixture(_ body: (RehearsalFixture) async throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
        try await body(RehearsalFixture(directory))
    }
}
