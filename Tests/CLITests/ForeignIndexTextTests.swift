import Foundation
import GRDB
import LarderTestSupport
import Testing

/// What somebody else's index says is output like any other text from outside: nothing of it
/// reaches a terminal raw, and JSON stays JSON.
@Suite struct ForeignIndexTextTests {
    private static let escape = "\u{1B}]0;owned\u{7}"

    /// A cache with one icon and one that is missing, whose index is then changed.
    private func withForeignIndex(
        _ sql: String, _ body: (CLIFixture, _ manifest: String) throws -> Void
    ) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(1) + [larder.origin.url("/missing")]
            let manifest = try larder.manifest(urls: urls)
            #expect(try larder.prefetch(manifest).status == 2)
            try DatabaseQueue(path: "\(larder.cache)/index.sqlite").write { db in
                try db.execute(sql: sql)
            }
            try body(larder, manifest)
        }
    }

    private func expectNothingRaw(
        _ larder: CLIFixture, _ arguments: [String],
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let finished = try larder.binary.run(arguments + ["--cache", larder.cache])
        let bytes = Array(finished.standardOutputBytes) + Array(finished.standardError.utf8)
        #expect(
            bytes.allSatisfy { $0 == 0x09 || $0 == 0x0A || ($0 >= 0x20 && $0 != 0x7F) },
            "\(arguments): \(finished)", sourceLocation: location)
        guard arguments.contains("--json") else { return }
        for line in finished.standardOutputBytes.split(separator: UInt8(ascii: "\n")) {
            #expect(
                throws: Never.self, "\(arguments): \(finished)", sourceLocation: location
            ) { _ = try JSONSerialization.jsonObject(with: line) }
        }
    }

    private func expectNothingRaw(_ larder: CLIFixture, _ manifest: String) throws {
        for arguments in [
            ["plan", manifest], ["list"], ["status"], ["verify"], ["evict", "--max-count", "0"],
        ] {
            let options = arguments[0] == "evict" ? ["--dry-run"] : []
            try expectNothingRaw(larder, arguments + options)
            try expectNothingRaw(larder, arguments + options + ["--json"])
        }
        try expectNothingRaw(larder, ["status", "--format", "prometheus"])
        try expectNothingRaw(larder, ["prefetch", manifest, "--json", "--offline"])
    }

    @Test func aFailuresCode() async throws {
        // Of one that is not given up: its code is shown.
        try await withForeignIndex(
            "UPDATE failures SET code = '\(Self.escape)', status = NULL"
        ) { larder, manifest in
            try expectNothingRaw(larder, manifest)
            let plan = try larder.run("plan", manifest)
            #expect(plan.standardOutput.contains("(failed once, unknown "), "\(plan)")
        }
    }

    @Test func aMediaType() async throws {
        try await withForeignIndex("UPDATE objects SET media_type = '\(Self.escape)'") {
            try expectNothingRaw($0, $1)
        }
    }

    @Test func keysAndURLs() async throws {
        try await withForeignIndex(
            "UPDATE resources SET key = 'http://a/\(Self.escape)', url = 'http://b/\(Self.escape)'"
        ) { try expectNothingRaw($0, $1) }
    }

    @Test(arguments: ["9e999", "-9e999", "1.7e308", "-1.7e308", "1e19"])
    func timesThatNobodyMeant(_ time: String) async throws {
        try await withForeignIndex(
            """
            UPDATE objects SET stored_at = \(time), used_at = \(time);
            UPDATE resources SET received_at = \(time), fresh_until = \(time);
            UPDATE failures SET failed_at = \(time), count = \(Int64.max);
            """
        ) { try expectNothingRaw($0, $1) }
    }

    /// Of the user's own, or of whoever made the directory that it lies in.
    @Test func aManifestsFileName() async throws {
        try await withFixture { larder in
            let name = "apps\(Self.escape).json"
            let manifest = try larder.manifest(larder.origin.url("/a"), name: name)
            #expect(try larder.run("pin", "http://a/").status == 0)
            for arguments in [
                ["verify", "--manifest", manifest], ["verify", "--quiet", "--manifest", manifest],
                ["plan", manifest], ["plan", "--explain", manifest],
                ["prefetch", manifest, "--offline"],
            ] { try expectNothingRaw(larder, arguments) }
        }
    }
}
