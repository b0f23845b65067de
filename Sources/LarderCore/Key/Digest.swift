import Crypto
import Foundation

/// The SHA-256 digest of an object's bytes, and so the object's name.
public struct Digest: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// How many bytes a digest has.
    public static let byteCount = 32

    // Four words, not an array: a digest is copied into every plan row and costs no allocation.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    fileprivate init(_ digest: SHA256.Digest) {
        // It has as many bytes.
        self = digest.withUnsafeBytes { Digest(bytes: $0)! }
    }

    /// The digest of bytes.
    package init(of bytes: some DataProtocol) { self.init(SHA256.hash(data: bytes)) }

    /// Takes the 32 bytes of a digest; nil for any other count.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: bytes) }
        self.words = (
            UInt64(bigEndian: words.0), UInt64(bigEndian: words.1), UInt64(bigEndian: words.2),
            UInt64(bigEndian: words.3)
        )
    }

    /// Takes 64 hexadecimal digits of either case; nil for anything else.
    public init?(hex: some StringProtocol) {
        var digits = hex.utf8.makeIterator()
        guard let first = Self.word(&digits), let second = Self.word(&digits),
            let third = Self.word(&digits), let fourth = Self.word(&digits), digits.next() == nil
        else { return nil }
        words = (first, second, third, fourth)
    }

    /// The next 16 digits, without an array of them: listings have millions.
    private static func word(_ digits: inout some IteratorProtocol<UInt8>) -> UInt64? {
        var word: UInt64 = 0
        for _ in 0..<16 {
            guard let digit = digits.next(), let value = value(ofDigit: digit) else { return nil }
            word = word << 4 | UInt64(value)
        }
        return word
    }

    private static func value(ofDigit digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }

    /// The 32 bytes, in order.
    public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

    /// Lends the 32 bytes, in order.
    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let ordered = (
            words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian
        )
        return Swift.withUnsafeBytes(of: ordered, body)
    }

    /// The 64 hexadecimal digits in lower case: the object's file name.
    public var hex: String {
        String(unsafeUninitializedCapacity: Self.byteCount * 2) { buffer in
            func digit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x57 + nibble }
            return withUnsafeBytes { bytes in
                for index in 0..<Self.byteCount {
                    buffer[index * 2] = digit(bytes[index] >> 4)
                    buffer[index * 2 + 1] = digit(bytes[index] & 0xF)
                }
                return Self.byteCount * 2
            }
        }
    }

    /// `sha256:` and the hexadecimal digits.
    public var description: String { "sha256:\(hex)" }

    /// Whether both name the same bytes.
    public static func == (left: Digest, right: Digest) -> Bool { left.words == right.words }

    /// The first byte: the directory of its object.
    package var firstByte: UInt8 { UInt8(words.0 >> 56) }

    /// The first 64 bits.
    package var leadingBits: UInt64 { words.0 }

    /// The order of the hexadecimal spelling.
    public static func < (left: Digest, right: Digest) -> Bool { left.words < right.words }

    /// A digest is its own best hash: one word of it is enough.
    public func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

/// The digest of bytes that come piece by piece.
package struct RunningDigest: Sendable {
    private var hash = SHA256()

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        hash.update(bufferPointer: bytes)
    }

    package mutating func update(_ bytes: some DataProtocol) { hash.update(data: bytes) }

    /// The digest of all bytes so far.
    package var digest: Digest { Digest(hash.finalize()) }
}

// Names that other programs give their files, in lower-case hexadecimal digits. Nothing's safety
// rests on MD5 or SHA-1 here: what these names stand for is compared by SHA-256.
extension String {
    /// MD5 of the text's UTF-8 (RFC 1321).
    package var md5Hex: String { Self.hex(Insecure.MD5.hash(data: Array(utf8))) }

    /// SHA-1 of the text's UTF-8 (RFC 3174).
    package var sha1Hex: String { Self.hex(Insecure.SHA1.hash(data: Array(utf8))) }

    /// SHA-256 of the text's UTF-8 (FIPS 180-4).
    package var sha256Hex: String { Digest(of: Array(utf8)).hex }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self)
    }
}
