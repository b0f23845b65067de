import Foundation
import LarderTestSupport
import Testing

/// A rehearsal that has ended, and what it printed.
struct RehearsalRun {
    let finished: Finished
    let report: [String: JSONValue]

    /// What each strategy has shown, in order.
    var strategies: [[String: JSONValue]] {
        report["strategies"]?.array?.compactMap(\.object) ?? []
    }
}

extension CLIFixture {
    /// Rehearses, loopback addresses allowed, no faster than images come.
    func rehearse(
        _ manifest: String, _ options: String..., standardInput: Data? = nil
    ) throws -> RehearsalRun {
        let finished = try binary.run(
            rehearseArguments(manifest) + ["--json"] + options, standardInput: standardInput,
            environment: ["TMPDIR": try temporaryDirectory()])
        let report = try #require(
            try JSONValue.lines(finished.standardOutputBytes).first, "\(finished)")
        return RehearsalRun(finished: finished, report: report)
    }

    func rehearseArguments(_ manifest: String) -> [String] {
        ["rehearse", manifest, "--allow-private-network", "--wait-for-images"]
    }

    /// A directory for temporary files, of this fixture's own.
    func temporaryDirectory() throws -> String {
        let path = directory.path("tmp")
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// A directory that is no cache, and cannot become one: a file is in the way.
    func brokenCache() throws -> String {
        let path = directory.path("broken")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return try (path, write("".utf8, to: "broken/objects")).0
    }

    /// What rehearsals have left there.
    func leftovers() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: try temporaryDirectory())
    }

    /// Serves images that are padded to a size at `/0`, `/1`, … and returns the URLs.
    func servePaddedIcons(_ count: Int, bytes: Int) -> [String] {
        (0..<count).map { number in
            let icon = Icons.icon(number)
            let padding = Array(repeating: UInt8(ascii: " "), count: max(0, bytes - icon.count))
            origin.on("/\(number)", .ok(icon + padding, type: "image/svg+xml"))
            return origin.url("/\(number)")
        }
    }
}
