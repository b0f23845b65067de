import Foundation
import LarderTestSupport
import Testing

/// The peak memory of commands that compare a manifest with a cache.
@Suite struct EntryMemoryTests {
    private func manifest(_ entries: Int, in larder: CLIFixture) throws -> String {
        let path = String(repeating: "a", count: 8_000)
        let icons = (0..<entries).map { #"{"icon":"http://a.example/\#(path)\#($0)"}"# }
        return try larder.write(
            "[\(icons.joined(separator: ","))]".utf8, to: "entries-\(entries).json")
    }

    @Test(
        .isLong,
        arguments: [
            ["verify", "--manifest"], ["verify", "--json", "--manifest"],
            ["verify", "--quiet", "--manifest"],
        ])
    func theMemoryOfVerifyDoesNotGrowWithMissingEntries(_ command: [String]) async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            // 4,000 entries have 32 MB of URLs.
            let peaks = try [10, 4_000].map { entries in
                let finished = try larder.binary.run(
                    command + [manifest(entries, in: larder), "--cache", larder.cache])
                #expect(finished.status == 2, "\(finished.standardError)")
                return try #require(finished.peakMemoryBytes)
            }
            #expect(peaks[1] - peaks[0] < 16_000_000, "\(peaks)")
        }
    }

    @Test(.isLong) func theMemoryOfAGalleryExportDoesNotGrowWithEntries() async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            let peaks = try [10, 4_000].map { entries in
                let finished = try larder.binary.run([
                    "export", larder.directory.path("gallery-\(entries)"), "--layout", "gallery",
                    "--manifest", manifest(entries, in: larder), "--cache", larder.cache,
                ])
                #expect(finished.status == 2, "\(finished.standardError)")
                return try #require(finished.peakMemoryBytes)
            }
            #expect(peaks[1] - peaks[0] < 24_000_000, "\(peaks)")
        }
    }
}
