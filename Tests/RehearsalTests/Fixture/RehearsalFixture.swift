import Foundation
import LarderTestSupport
import Testing

struct RehearsalRun {
    let finished: Finished
    let report: [String: Any]

    var strategies: [[String: Any]] { report["strategies"] as? [[String: Any]] ?? [] }

    /// Returns a count of the last strategy.
    func count(_ key: String) -> Int? { strategies.last?[key] as? Int }
}

/// An origin, a temporary directory, and the program `rehearse`.
struct RehearsalFixture: Sendable {
    let origin: Origin
    let directory: TemporaryDirectory
    let binary: LarderBinary

    init(_ directory: TemporaryDirectory) throws {
        self.directory = directory
        origin = try Origin()
        binary = try LarderBinary("rehearse")
    }

    /// The path of the cache, which may not exist yet.
    var cache: String { directory.path("cache") }

    /// Writes a file and returns its path.
    func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
        let path = directory.path(name)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Writes a JSON manifest and returns its path.
    func manifest(_ entries: [[String: any Sendable]]) throws -> String {
        try write(JSONSerialization.data(withJSONObject: entries), to: "apps.json")
    }

    func manifest(urls: [String]) throws -> String {
        try manifest(urls.map { ["icon": $0] })
    }

    /// Returns the arguments of a rehearsal that allows loopback addresses and waits for images.
    func arguments(_ manifest: String) -> [String] {
        [manifest, "--allow-private-network", "--wait-for-images"]
    }

    func rehearse(_ manifest: String, _ options: String...) throws -> RehearsalRun {
        let finished = try binary.run(
            arguments(manifest) + ["--json"] + options,
            environment: ["TMPDIR": try temporaryDirectory()])
        let report = try JSONSerialization.jsonObject(with: Data(finished.standardOutputBytes))
        return RehearsalRun(
            finished: finished, report: try #require(report as? [String: Any], "\(finished)"))
    }

    func prefetch(_ manifest: String) throws {
        let finished = try LarderBinary().run(
            ["prefetch", manifest, "--allow-private-network", "--cache", cache])
        try #require(finished.status == 0, "\(finished)")
    }

    /// Creates the directory for temporary files, and returns its path.
    func temporaryDirectory() throws -> String {
        let path = directory.path("tmp")
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// Returns the names of temporary files that rehearsals left.
    func leftovers() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: try temporaryDirectory())
    }

    /// Creates a directory that cannot become a cache, because a file is in the way.
    func brokenCache() throws -> String {
        let path = directory.path("broken")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return try (path, write("".utf8, to: "broken/objects")).0
    }

    /// Serves images at `/0`, `/1`, … that are padded to a size, and returns their URLs.
    func serveIcons(_ count: Int, bytes: Int = 0) -> [String] {
        (0..<count).map { number in
            let icon = Self.icon(number)
            let padding = Array(repeating: UInt8(ascii: " "), count: max(0, bytes - icon.count))
            origin.on("/\(number)", .ok(icon + padding, type: "image/svg+xml"))
            return origin.url("/\(number)")
        }
    }

    /// Returns a different icon for each seed.
    static func icon(_ seed: Int) -> [UInt8] { IconPainter.svg(seed: seed, size: 16) }
}

/// Runs `body` with a new fixture, and removes its files afterwards.
func withFixture(_ body: (RehearsalFixture) async throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
        try await body(RehearsalFixture(directory))
    }
}
