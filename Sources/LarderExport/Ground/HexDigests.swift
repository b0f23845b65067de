import Crypto
import LarderCache

// The digests that libraries name their files by, in lower-case hexadecimal digits. Nothing's
// safety rests on MD5 or SHA-1 here: they are names, and what they name is compared by SHA-256.

extension String {
    /// MD5 of the text's UTF-8 (RFC 1321).
    var md5Hex: String { Self.hex(Insecure.MD5.hash(data: Array(utf8))) }

    /// SHA-1 of the text's UTF-8 (RFC 3174).
    var sha1Hex: String { Self.hex(Insecure.SHA1.hash(data: Array(utf8))) }

    /// SHA-256 of the text's UTF-8 (FIPS 180-4).
    var sha256Hex: String { LarderCache.Digest(SHA256.hash(data: Array(utf8))).hex }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self)
    }

    /// Whether it is that many hexadecimal digits in lower case.
    func isHex(_ count: Int) -> Bool { utf8.count == count && utf8.allSatisfy(\.isLowerHex) }
}

extension UInt8 {
    fileprivate var isLowerHex: Bool { isDigit || 0x61...0x66 ~= self }
}
