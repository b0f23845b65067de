import Crypto
import Foundation

/// The SHA-256 digest of an object's bytes, used as the object's name.
public struct Digest: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The number of bytes in a digest.
    public static let byteCount = 32

    // A tuple, because it takes less memory than an array.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    fileprivate init(_ digest: SHA256.Digest) {
        self = digest.withUnsafeBytes { Digest(bytes: $0)! }
    }

    package init(of bytes: some DataProtocol) { self.init(SHA256.hash(data: bytes)) }

    /// Creates a digest from exactly 32 bytes, or returns nil.
    public init?(bytes: some Collection<UInt8>) {
        guard let digest = Array(bytes).withUnsafeBytes({ Digest(bytes: $0) }) else { return nil }
        self = digest
    }

    /// Not generic, so that reading the index is fast.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.byteCount else { return nil }
        func word(_ index: Int) -> UInt64 {
            bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self).bigEndian
        }
        words = (word(0), word(1), word(2), word(3))
    }

    /// Creates a digest from exactly 64 hexadecimal digits in either case, or returns nil.
    public init?(hex: some StringProtocol) {
        var digits = hex.utf8.makeIterator()
        var words = SIMD4<UInt64>()
        for index in 0..<64 {
            guard let value = digits.next()?.hexDigit else { return nil }
            words[index / 16] = words[index / 16] << 4 | UInt64(value)
        }
        guard digits.next() == nil else { return nil }
        self.words = (words[0], words[1], words[2], words[3])
    }

    /// The 32 bytes.
    public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let ordered = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
        return Swift.withUnsafeBytes(of: ordered, body)
    }

    /// The 64 lower-case hexadecimal digits, which are the object's file name.
    public var hex: String { withUnsafeBytes { String.hex($0) } }

    /// The file's path in a tree with a directory for each first byte, such as `3a/3a…`. Built in
    /// one buffer, because string interpolation would take as long as the look-up of the file.
    package var treePath: String {
        withUnsafeBytes { bytes in
            String(unsafeUninitializedCapacity: 3 + 2 * bytes.count) { buffer in
                let name = UnsafeMutableBufferPointer(rebasing: buffer[3...])
                let count = 3 + name.writeHex(bytes)
                (buffer[0], buffer[1], buffer[2]) = (name[0], name[1], UInt8(ascii: "/"))
                return count
            }
        }
    }

    /// `sha256:` followed by the hexadecimal digits.
    public var description: String { "sha256:\(hex)" }

    /// Whether two digests are equal.
    public static func == (left: Digest, right: Digest) -> Bool { left.words == right.words }

    /// The first byte, which names the object's directory.
    package var firstByte: UInt8 { UInt8(words.0 >> 56) }
    package var leadingBits: UInt64 { words.0 }

    /// Compares digests by their bytes.
    public static func < (left: Digest, right: Digest) -> Bool { left.words < right.words }

    /// Hashes only the first word, because a digest's bits are evenly distributed.
    public func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

package struct RunningDigest: Sendable {
    private var hash = SHA256()

    package init() {}

    package mutating func update(_ bytes: some DataProtocol) { hash.update(data: bytes) }
    package var digest: Digest { Digest(hash.finalize()) }
}

// Digests in other programs' file names. Contents are compared only by SHA-256.
extension String {
    package var md5Hex: String { Self.hex(Array(Insecure.MD5.hash(data: Array(utf8)))) }
    package var sha1Hex: String { Self.hex(Array(Insecure.SHA1.hash(data: Array(utf8)))) }
    package var sha256Hex: String { Digest(of: Array(utf8)).hex }

    package func isHex(_ count: Int) -> Bool {
        utf8.count == count && utf8.allSatisfy { $0.isDigit || 0x61...0x66 ~= $0 }
    }

    package static func hex(_ bytes: some Collection<UInt8>) -> String {
        String(unsafeUninitializedCapacity: 2 * bytes.count) { $0.writeHex(bytes) }
    }
}

extension UnsafeMutableBufferPointer<UInt8> {
    /// Writes two digits for each byte, and returns their number.
    fileprivate func writeHex(_ bytes: some Collection<UInt8>) -> Int {
        func digit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x57 + nibble }
        var count = 0
        for byte in bytes {
            (self[count], self[count + 1]) = (digit(byte >> 4), digit(byte & 0xF))
            count += 2
        }
        return count
    }
}
