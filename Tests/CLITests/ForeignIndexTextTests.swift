import Foundation
import GRDB
import LarderTestSupport
import Testing

/// Text from an index of unknown origin, which must not reach a terminal raw or break JSON output.
@Suite struct ForeignIndexTextTests {
    private static let escape = "\u{1B}]0;owned\u{7}"

    /// Runs `body` with a cache of one fetched and one missing icon, whose index `sql` has changed.
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

    private func expectSafeOutput(
        _ larder: CLIFixture, _ arguments: [String],
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let finished = try larder.run(arguments: arguments)
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

    private func expectSafeOutput(_ larder: CLIFixture, _ manifest: String) throws {
        for arguments in [
            ["plan", manifest], ["list"], ["status"], ["verify"], ["evict", "--max-count", "0"],
        ] {
            let options = arguments[0] == "evict" ? ["--dry-run"] : []
            try expectSafeOutput(larder, arguments + options)
            try expectSafeOutput(larder, arguments + options + ["--json"])
        }
        try expectSafeOutput(larder, ["status", "--format", "prometheus"])
        try expectSafeOutput(larder, ["prefetch", manifest, "--json", "--offline"])
    }

    @Test func aFailureCodeInTheIndexIsNotPrintedRaw() async throws {
        // Without a status, the failure is not permanent, so `plan` shows its code.
        try await withForeignIndex(
            "UPDATE failures SET code = '\(Self.escape)', status = NULL"
        ) { larder, manifest in
            try expectSafeOutput(larder, manifest)
            let plan = try larder.run("plan", manifest)
            #expect(plan.standardOutput.contains("(failed once, unknown "), "\(plan)")
        }
    }

    @Test func aMediaTypeInTheIndexIsNotPrintedRaw() async throws {
        try await withForeignIndex("UPDATE objects SET media_type = '\(Self.escape)'") {
            try expectSafeOutput($0, $1)
        }
    }

    @Test func keysAndURLsInTheIndexAreNotPrintedRaw() async throws {
        try await withForeignIndex(
            "UPDATE resources SET key = 'http://a/\(Self.escape)', url = 'http://b/\(Self.escape)'"
        ) { try expectSafeOutput($0, $1) }
    }

    @Test(arguments: ["9e999", "-9e999", "1.7e308", "-1.7e308", "1e19"])
    func extremeTimesInTheIndexKeepTheOutputValid(_ time: String) async throws {
        try await withForeignIndex(
            """
            UPDATE objects SET stored_at = \(time), used_at = \(time);
            UPDATE resources SET received_at = \(time), fresh_until = \(time);
            UPDATE failures SET failed_at = \(time), count = \(Int64.max);
            """
        ) { try expectSafeOutput($0, $1) }
    }

    /// The name of a manifest may come from another user.
    @Test func theFileNameOfAManifestIsNotPrintedRaw() async throws {
        try await withFixture { larder in
            let name = "apps\(Self.escape).json"
            let manifest = try larder.manifest(larder.origin.url("/a"), name: name)
            #expect(try larder.run("pin", "http://a/").status == 0)
            for arguments in [
                ["verify", "--manifest", manifest], ["verify", "--quiet", "--manifest", manifest],
                ["plan", manifest], ["plan", "--explain", manifest],
                ["prefetch", manifest, "--offline"],
            ] { try expectSafeOutput(larder, arguments) }
        }
    }
}
