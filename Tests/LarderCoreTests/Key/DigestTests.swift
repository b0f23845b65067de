import LarderTestSupport
import Testing

@testable import LarderCore

@Suite struct DigestTests {
    private let hex = "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210"

    @Test func aDigestIsWrittenInHexadecimal() throws {
        let digest = try #require(Digest(hex: hex))
        #expect(digest.hex == hex)
        #expect(digest.description == "sha256:" + hex)
        #expect(digest.bytes.prefix(4) == [0x00, 0x11, 0x22, 0x33])
        #expect(digest.bytes.suffix(2) == [0x32, 0x10])
        #expect(Digest(bytes: digest.bytes) == digest)
    }

    @Test func digestsAreReadInUpperCaseAndWrittenInLowerCase() throws {
        #expect(try #require(Digest(hex: hex.uppercased())).hex == hex)
    }

    @Test(arguments: [
        "", "00", String(repeating: "0", count: 63), String(repeating: "0", count: 65),
        String(repeating: "g", count: 64), String(repeating: "é", count: 32),
        "0x" + String(repeating: "0", count: 62), String(repeating: "0", count: 63) + " ",
    ])
    func invalidDigestTextIsRefused(_ text: String) {
        #expect(Digest(hex: text) == nil)
    }

    @Test(arguments: [0, 31, 33])
    func digestsOfAnotherLengthAreRefused(_ count: Int) {
        #expect(Digest(bytes: [UInt8](repeating: 1, count: count)) == nil)
    }

    @Test func digestsAreOrderedLikeTheirText() throws {
        let digests = try (0..<200).map { seed in
            try #require(Digest(bytes: noise(Digest.byteCount, seed: seed)))
        }
        #expect(digests.sorted().map(\.hex) == digests.map(\.hex).sorted())
        #expect(Set(digests).count == 200)
    }

    @Test(arguments: 0..<32)
    func everyByteOfADigestIsCompared(_ position: Int) throws {
        var bytes = noise(Digest.byteCount, seed: 1)
        let digest = try #require(Digest(bytes: bytes))
        bytes[position] ^= 0x10
        #expect(try #require(Digest(bytes: bytes)) != digest)
    }

    @Test func aDigestIsReadFromItsBytes() throws {
        let digest = try #require(Digest(hex: hex))
        #expect(Digest(bytes: digest.bytes) == digest)
    }
}
