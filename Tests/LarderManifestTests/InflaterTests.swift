import Foundation
import Testing

@testable import LarderManifest

/// Manifests in gzip files, which are recognised by their first bytes.
@Suite struct InflaterTests {
    /// `[{"name":"A","icon":"https://a.example/1"},` and
    /// `{"name":"B","icon":"https://a.example/2"}]`.
    private static let members = [
        "H4sIAAAAAAACA4uuVspLzE1VslJyVNJRykzOzwMyM0pKCoqt9PUT9VIrEnMLclL1DZVqdQCEjo3mKwAAAA==",
        "H4sIAAAAAAACA6tWykvMTVWyUnJS0lHKTM7PAzIzSkoKiq309RP1UisScwtyUvWNlGpjuQAu/rMOKwAAAA==",
    ].map { Array(Data(base64Encoded: $0) ?? Data()) }

    private func read(_ bytes: [UInt8]) throws -> [String] {
        try readManifest(.bytes(bytes, name: "apps.json.gz")).words
    }

    @Test func severalGzipMembersAreOneManifest() throws {
        let urls = ["https://a.example/1", "https://a.example/2"]
        let bytes = Self.members[0] + Self.members[1]
        #expect(try read(bytes) == urls)
        #expect(try read(bytes + [0, 0, 0]) == urls)
    }

    @Test func truncatedAndDamagedGzipFilesAreRefused() throws {
        let bytes = Self.members[0] + Self.members[1]
        for length in 2..<bytes.count {
            let cut = ManifestSource.bytes(Array(bytes.prefix(length)), name: "cut.gz")
            #expect(try manifestError(cut)?.code == .malformed, "\(length)")
        }
        for index in [3, 20, bytes.count - 6] {
            var damaged = bytes
            damaged[index] ^= 0x55
            #expect(try manifestError(.bytes(damaged, name: "damaged.gz")) != nil, "\(index)")
        }
    }

    @Test func aGzipFileThatIsNotAManifestIsRefused() throws {
        // The text "abc".
        let packed: [UInt8] = [
            31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 75, 76, 74, 6, 0, 194, 65, 36, 53, 3, 0, 0, 0,
        ]
        let error = try manifestError(.bytes(packed, name: "abc.gz"))
        #expect(error?.code == .notAManifest)
        #expect(error?.reason.contains("starts with 'abc'") == true)
    }
}
