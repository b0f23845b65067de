import Foundation
import LarderTestSupport
import Testing

/// Entries with `integrity`, `sha256` or `size`, which the bytes must match.
@Suite struct ExpectationTests {
    private static let icon = Icons.icon(1)
    private static let hex = ReferenceSHA256.hex(icon)
    private static let otherHex = ReferenceSHA256.hex(Icons.icon(2))

    static let matching: [ManifestEntry] = [
        ["integrity": integrity(icon)],
        ["integrity": "sha384-AAAA \(integrity(icon))?x"],
        ["sha256": hex],
        ["sha256": hex.uppercased()],
        ["size": icon.count],
        ["integrity": integrity(icon), "sha256": hex, "size": icon.count],
    ]

    static let mismatching: [(ManifestEntry, String)] = [
        (["integrity": integrity(Icons.icon(2))], "integrity-mismatch"),
        (["sha256": otherHex], "integrity-mismatch"),
        (["size": icon.count + 1], "size-mismatch"),
        (["sha256": hex, "size": 1], "size-mismatch"),
        (["sha256": otherHex, "size": icon.count], "integrity-mismatch"),
    ]

    @Test(arguments: matching)
    func bytesThatMatchTheEntryAreStored(_ expectation: ManifestEntry) async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a", Icons.reply(1))
            let manifest = try larder.manifest([expectation.merging(["icon": url]) { $1 }])
            let run = try larder.prefetch(manifest)
            #expect(run.status == 0, "\(run.finished)")
            #expect(try run.line(1).digest == "sha256:" + Self.hex)
            #expect(try larder.prefetch(manifest).outcomes == ["cached"])
        }
    }

    @Test(arguments: mismatching)
    func bytesThatDoNotMatchTheEntryAreRefused(
        _ expectation: ManifestEntry, _ code: String
    ) async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a", Icons.reply(1))
            let run = try larder.prefetch(
                try larder.manifest([expectation.merging(["icon": url]) { $1 }]))
            #expect(run.status == 2)
            #expect(try run.line(1).error?.code == code)
            #expect(larder.origin.count() == 1)
            #expect(try larder.status().objects == 0)
            #expect(try larder.status().resources == 0)
            #expect(try larder.temporaries().isEmpty)
        }
    }

    @Test func cachedBytesThatDoNotMatchTheEntryAreFetchedAgain() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a", Icons.reply(2))
            _ = try larder.prefetch(try larder.manifest(url))
            larder.origin.on("/a", Icons.reply(1))
            let run = try larder.prefetch(
                try larder.manifest([["icon": url, "sha256": Self.hex]]))
            #expect(run.outcomes == ["fetched"])
            #expect(try larder.cat(url) == Self.icon)
        }
    }

    @Test func entriesWithOneURLMayExpectDifferentBytes() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a", Icons.reply(1))
            let run = try larder.prefetch(
                try larder.manifest([
                    ["icon": url], ["icon": url, "sha256": Self.otherHex],
                    ["icon": url, "sha256": Self.hex],
                ]))
            #expect(run.outcomes == ["fetched", "failed", "coalesced"])
            #expect(larder.origin.count() == 1)
            #expect(try larder.cat(url) == Self.icon)
        }
    }

    private static func integrity(_ bytes: [UInt8]) -> String {
        "sha256-" + Data(ReferenceSHA256.digest(bytes)).base64EncodedString()
    }
}
