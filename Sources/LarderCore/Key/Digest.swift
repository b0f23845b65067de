import Crypto
import Foundation

/// The SHA-256 digest of an object's bytes, and so the object's name.
public struct Digest: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The number of bytes in a digest.
    public static let byteCount = 32

    // Four words, not an array: a digest is copied into every plan row and costs no allocation.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    fileprivate init(_ digest: SHA256.Digest) {
        self = digest.withUnsafeBytes { Digest(bytes: $0)! }
    }

    package init(of bytes: some DataProtocol) { self.init(SHA256.hash(data: bytes)) }

    /// Takes 32 bytes; nil for any other count.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: bytes) }
        self.words = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
    }

    /// Takes 64 hexadecimal digits of either case; nil for anything else.
    public init?(hex: some StringProtocol) {
        var digits = hex.utf8.makeIterator()
        guard let first = Self.word(&digits), let second = Self.word(&digits),
            let third = Self.word(&digits), let fourth = Self.word(&digits), digits.next() == nil
        else { return nil }
        words = (first, second, third, fourth)
    }

    /// Reads 16 digits without an array of them: listings have millions.
    private static func word(_ digits: inout some IteratorProtocol<UInt8>) -> UInt64? {
        var word: UInt64 = 0
        for _ in 0..<16 {
            guard let value = digits.next()?.hexDigit else { return nil }
            word = word << 4 | UInt64(value)
        }
        return word
    }

    /// The 32 bytes, in order.
    public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let ordered = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
        return Swift.withUnsafeBytes(of: ordered, body)
    }

    /// The 64 hexadecimal digits in lower case: the object's file name.
    public var hex: String { withUnsafeBytes { String.hex($0) } }

    /// `sha256:` and the hexadecimal digits.
    public var description: String { "sha256:\(hex)" }

    /// Whether both name the same bytes.
    public static func == (left: Digest, right: Digest) -> Bool { left.words == right.words }

    /// The name of the directory of its object.
    package var firstByte: UInt8 { UInt8(words.0 >> 56) }
    package var leadingBits: UInt64 { words.0 }

    /// The order of the hexadecimal spelling.
    public static func < (left: Digest, right: Digest) -> Bool { left.words < right.words }

    /// Feeds one word. The bits of a digest are distributed evenly.
    public func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

package struct RunningDigest: Sendable {
    private var hash = SHA256()

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        hash.update(bufferPointer: bytes)
    }

    package mutating func update(_ bytes: some DataProtocol) { hash.update(data: bytes) }
    package var digest: Digest { Digest(hash.finalize()) }
}

// Names that other programs give their files. Nothing's safety rests on MD5 or SHA-1 here: what
// these names stand for is compared by SHA-256.
extension String {
    /// MD5 of the text's UTF-8 (RFC 1321).
    package var md5Hex: String { Self.hex(Insecure.MD5.hash(data: Array(utf8))) }

    /// SHA-1 of the text's UTF-8 (RFC 3174).
    package var sha1Hex: String { Self.hex(Insecure.SHA1.hash(data: Array(utf8))) }
    package var sha256Hex: String { Digest(of: Array(utf8)).hex }

    fileprivate static func hex(_ bytes: some Sequence<UInt8>) -> String {
        String(unsafeUninitializedCapacity: 2 * Digest.byteCount) { buffer in
            func digit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x57 + nibble }
            var count = 0
            for byte in bytes {
                buffer[count] = digit(byte >> 4)
                buffer[count + 1] = digit(byte & 0xF)
                count += 2
            }
            return count
        }
    }
}
