import Foundation
import LarderTestSupport
import Testing

/// Limits on the size and the memory use of manifests.
@Suite struct ManifestLimitTests {
    /// Commands that read a manifest.
    private static let commands = [
        ["plan"], ["prefetch", "--offline"], ["verify", "--manifest"],
        ["evict", "--dry-run", "--keep"], ["evict", "--dry-run", "--only"], ["pin"], ["unpin"],
    ]

    private func gzipped(_ text: String, in larder: CLIFixture) throws -> String {
        let path = try larder.write(text.utf8, to: "apps.json")
        let gzip = try RunningProcess("/usr/bin/env", ["gzip", "-9nf", path]).wait()
        #expect(gzip.status == 0, "\(gzip)")
        return path + ".gz"
    }

    /// Runs the commands, or only `LARDER_TEST_SHARE` of them.
    private func run(
        _ manifest: String, _ options: String..., on larder: CLIFixture
    ) throws -> [Finished] {
        try share(of: Self.commands).map {
            try larder.binary.run($0 + [manifest, "--cache", larder.cache] + options)
        }
    }

    /// Without the limit, 10 kB of gzip with five million entries produced a report of 1.5 GB.
    @Test func theNumberOfEntriesIsLimited() async throws {
        try await withFixture { larder in
            // Some of the commands need an existing cache.
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            let entries = Array(repeating: #"{"icon":"http://h/"}"#, count: 1001)
            let manifest = try gzipped("[\(entries.joined(separator: ","))]", in: larder)
            for finished in try run(manifest, "--max-entries", "1000", on: larder) {
                #expect(finished.status == 65, "\(finished)")
                #expect(
                    finished.standardError.contains(
                        "apps.json.gz: line 1: more than 1000 entries"), "\(finished)")
                #expect(finished.standardError.contains("use --max-entries to allow more"))
            }
            for finished in try run(manifest, "--max-entries", "1001", on: larder) {
                #expect([0, 2].contains(finished.status), "\(finished)")
            }
            #expect(try larder.run("plan", manifest, "--max-entries", "0").status == 64)
        }
    }

    /// Every icon adds a line to the report.
    @Test func everyIconCountsTowardsTheEntryLimit() async throws {
        try await withFixture { larder in
            let icons = (0..<10).map { #"{"src":"http://h/\#($0)"}"# }.joined(separator: ",")
            let entry = #"{"name":"a","icons":[\#(icons)]}"#
            let manifest = try larder.write("[\(entry),\(entry)]".utf8, to: "icons.json")
            #expect(try larder.run("plan", manifest, "--max-entries", "19").status == 65)
            #expect(try larder.run("plan", manifest, "--max-entries", "20").status == 0)
        }
    }

    @Test func theUnpackedSizeIsLimited() async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            let manifest = try gzipped("[\(String(repeating: " ", count: 5000))]", in: larder)
            for finished in try run(manifest, "--max-manifest-size", "5001", on: larder) {
                #expect(finished.status == 65, "\(finished)")
                #expect(finished.standardError.contains("use --max-manifest-size to allow more"))
            }
            // Only `plan`, because `evict --only` refuses a manifest without icons.
            #expect(try larder.run("plan", manifest, "--max-manifest-size", "5002").status == 0)
        }
    }

    /// Spaces compress to about a thousandth. The ratio is not limited below 16 MiB.
    @Test func theUnpackingRatioIsLimited() async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            let small = try gzipped("[\(String(repeating: " ", count: 10 << 20))]", in: larder)
            #expect(try larder.run("plan", small).status == 0)
            let large = try gzipped("[\(String(repeating: " ", count: 20 << 20))]", in: larder)
            for finished in try run(large, on: larder) {
                #expect(finished.status == 65, "\(finished)")
                #expect(
                    finished.standardError.contains(
                        "more than 200 times its size; use --max-unpack-ratio to allow more"
                    ),
                    "\(finished)")
            }
            #expect(try larder.run("plan", large, "--max-unpack-ratio", "2000").status == 0)
        }
    }

    /// By itself libxml2 keeps them all until the end of the file, 800 MB here.
    @Test(.isLong) func xmlCommentsAndInstructionsTakeNoMemory() async throws {
        try await withFixture { larder in
            let noise = String(repeating: "<!--c--><?p d?>", count: 500_000)
            let manifest = try larder.write(
                "<plist>\(noise)<array>\(noise)</array></plist>".utf8, to: "apps.plist")
            let finished = try larder.run("plan", manifest)
            #expect(finished.status == 0, "\(finished)")
            #expect(try #require(finished.peakMemoryBytes) < 100_000_000)
        }
    }

    @Test(arguments: ["<!-- %@ -->", "<?a %@?>"])
    func xmlCommentsAndInstructionsHaveASizeLimit(form: String) async throws {
        try await withFixture { larder in
            let text = String(repeating: "an instruction or a comment ", count: 40)
            let piece = form.replacing("%@", with: text)
            let noise = String(repeating: piece, count: (65 << 20) / piece.utf8.count)
            let manifest = try larder.write("<plist>\(noise)".utf8, to: "apps.plist")
            let finished = try larder.run("plan", manifest)
            #expect(finished.status == 65, "\(finished)")
            #expect(finished.standardError.contains("more than 67108864 bytes"), "\(finished)")
        }
    }

    /// By itself libxml2 keeps about 60 long texts, 200 MB here. Only the entries with them fail.
    @Test(.isLong) func longTextsTakeNoMemory() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let text = String(repeating: "a", count: 3 << 20)
            let long = "<dict><key>icon</key><string>http://a/\(text)</string></dict>"
            let manifest = try larder.write(
                """
                <plist><array>\(String(repeating: long, count: 40))<dict><key>icon</key>\
                <string>\(url)</string></dict></array></plist>
                """.utf8, to: "apps.plist")
            let finished = try larder.run("plan", manifest, "--json")
            #expect(finished.status == 2, "\(finished.standardError)")
            #expect(try #require(finished.peakMemoryBytes) < 70_000_000)
            let lines = try JSONValue.lines(finished.standardOutputBytes)
            let codes = lines.compactMap { $0["error"]?.object?["code"]?.string }
            #expect(codes == Array(repeating: "too-large", count: 40))
            #expect(lines.contains { $0["url"]?.string == url })
        }
    }
}
