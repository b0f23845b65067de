import CZlib
import Foundation
import LarderCore

/// A forward reader of untrusted bytes. It checks every access, because release builds do not check
/// subscripts of buffer pointers. `0 <= offset <= bytes.count` always holds.
struct ByteReader {
    let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0
    let type: MediaType
    var place: StaticString = "the header"
    /// Whether missing bytes mean that the file is damaged, not truncated.
    private var isPart = false

    init(_ bytes: UnsafeRawBufferPointer, of type: MediaType) {
        self.bytes = bytes
        self.type = type
    }

    var remaining: Int { bytes.count - offset }
    var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[offset...]) }

    @inline(__always)
    var next: UInt8? { remaining > 0 ? bytes[offset] : nil }
    mutating func rewind() { offset = 0 }

    /// Reads a big-endian number of 0 to 8 bytes.
    @inline(__always)
    mutating func big(_ width: Int) throws(ImageError) -> Int {
        var value: UInt64 = 0
        for byte in try take(width) { value = value << 8 | UInt64(byte) }
        return try fitting(value)
    }

    @inline(__always)
    mutating func little(_ width: Int) throws(ImageError) -> Int {
        var value: UInt64 = 0
        for byte in try take(width).reversed() { value = value << 8 | UInt64(byte) }
        return try fitting(value)
    }

    mutating func fourCC() throws(ImageError) -> FourCC { FourCC(value: UInt32(try big(4))) }
    mutating func skip(_ count: Int) throws(ImageError) { _ = try take(count) }

    mutating func part(_ count: Int, _ place: StaticString) throws(ImageError) -> ByteReader {
        var part = ByteReader(try take(count), of: type)
        part.isPart = true
        part.place = place
        return part
    }

    @inline(__always)
    mutating func take(_ count: Int) throws(ImageError) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= remaining else { throw outOfBytes() }
        let taken = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
        offset += count
        return taken
    }

    mutating func skip(to byte: UInt8) {
        offset = bytes.bindMemory(to: UInt8.self).place(of: byte, from: offset) ?? bytes.count
    }

    @inline(__always)
    mutating func skip(while matches: (UInt8) -> Bool) {
        while offset < bytes.count, matches(bytes[offset]) { offset += 1 }
    }

    /// Whether two ranges have the same bytes. False if a range exceeds `bytes`.
    func isSame(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
        guard let base = bytes.baseAddress, left.count == right.count,
            left.lowerBound >= 0, left.upperBound <= bytes.count,
            right.lowerBound >= 0, right.upperBound <= bytes.count
        else { return false }
        return memcmp(base + left.lowerBound, base + right.lowerBound, left.count) == 0
    }

    func damaged(_ message: String) -> ImageError { .damaged(type, message) }

    func checkSize(_ width: Int, _ height: Int, atMost limit: Int = .max) throws(ImageError) {
        guard (1...limit).contains(width), (1...limit).contains(height)
        else { throw damaged("has an invalid size, \(width) × \(height)") }
    }

    private func outOfBytes() -> ImageError {
        isPart
            ? .damaged(type, "has too few bytes in \(place)")
            : .truncated(type, "ends inside \(place)")
    }

    private func fitting(_ value: UInt64) throws(ImageError) -> Int {
        guard let number = Int(exactly: value)
        else { throw damaged("has an invalid number in \(place)") }
        return number
    }
}

/// The type of a PNG chunk, RIFF chunk or ISO box.
struct FourCC: Equatable, CustomStringConvertible {
    let value: UInt32

    var isFourLetters: Bool {
        stride(from: 0, to: 32, by: 8).allSatisfy { (0x41...0x5A).contains(value >> $0 & 0xDF) }
    }

    var description: String {
        bytes.allSatisfy { (0x20...0x7E).contains($0) }
            ? "'\(String(decoding: bytes, as: UTF8.self))'"
            : "0x\(String(value, radix: 16))"
    }

    private var bytes: [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
    }
}

extension FourCC: ExpressibleByStringLiteral {
    init(stringLiteral text: StaticString) {
        self.init(value: text.withUTF8Buffer { $0.reduce(0) { $0 << 8 | UInt32($1) } })
    }
}

/// CRC-32 (ISO 3309, ITU-T V.42), which follows every PNG chunk.
enum CRC32 {
    static func checksum(of bytes: UnsafeRawBufferPointer) -> UInt32 {
        let start = bytes.bindMemory(to: UInt8.self).baseAddress
        return UInt32(truncatingIfNeeded: crc32_z(0, start, bytes.count))
    }
}
