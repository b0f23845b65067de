import Foundation
import LarderTestSupport
import Testing

@testable import LarderManifest

@Suite struct BinaryPlistTests {
    private func value(_ bytes: [UInt8]) throws -> ManifestValue {
        let window = ByteWindow(ByteInput(bytes: bytes, name: "test"))
        return try BinaryPlistCursor(window, limits: .init()).take().get()
    }

    private func value(of object: [UInt8]) throws -> ManifestValue {
        var builder = BinaryPlistBuilder()
        _ = builder.add(object)
        return try value(builder.bytes)
    }

    @Test(
        arguments: [
            (0, .integer(0)), (255, .integer(255)), (65_536, .integer(65_536)), (-1, .integer(-1)),
            (Int.min, .integer(.min)), (Int.max, .integer(.max)), (true, .bool(true)),
            (false, .bool(false)), (1.5, .double(1.5)), ("", .string("")), ("abc", .string("abc")),
            (String(repeating: "x", count: 70_000), .string(String(repeating: "x", count: 70_000))),
            ("é中🍎", .string("é中🍎")),
            (
                String(repeating: "中", count: 300),
                .string(String(repeating: "中", count: 300))
            ),
            (Data([1, 2, 3]), .opaque("data")), (Date(timeIntervalSince1970: 0), .opaque("a date")),
            (
                [[1], [2, 3], []],
                .array([.array([.integer(1)]), .array([.integer(2), .integer(3)]), .array([])])
            ),
            (
                ["a": ["b": 1]],
                .dictionary([
                    .init(key: "a", value: .dictionary([.init(key: "b", value: .integer(1))]))
                ])
            ),
            (Array(1...300), .array((1...300).map { .integer($0) })),
        ] as [(any Sendable, ManifestValue)])
    func valuesWrittenByFoundationAreRead(object: any Sendable, value: ManifestValue) throws {
        let data = try PropertyListSerialization.data(
            fromPropertyList: object, format: .binary, options: 0)
        #expect(try self.value(Array(data)) == value)
    }

    @Test(
        arguments: [
            ([0x00], .null), ([0x22, 0x3F, 0xC0, 0x00, 0x00], .double(1.5)),
            (
                [0x14] + [UInt8](repeating: 0, count: 8) + [UInt8](repeating: 0xFF, count: 8),
                .double(18_446_744_073_709_551_616)
            ),
            ([0x14] + [UInt8](repeating: 0xFF, count: 16), .integer(-1)),
            ([0x80, 0x01], .opaque("a UID")), ([0x51, 0x80], .invalidText),
            ([0x62, 0xD8, 0x3C, 0x00, 0x61], .invalidText), ([0x61, 0xDF, 0x4E], .invalidText),
            ([0x62, 0x00, 0x61, 0xD8, 0x3C], .invalidText),
            ([0x62, 0xD8, 0x3C, 0xDF, 0x4E], .string("🍎")),
            ([0x61, 0xFF, 0xFD], .string("\u{FFFD}")),
        ] as [([UInt8], ManifestValue)])
    func valuesWrittenByOtherProgramsAreRead(object: [UInt8], value: ManifestValue) throws {
        #expect(try self.value(of: object) == value)
    }

    @Test(
        arguments: [
            0x01, 0x0F, 0x15, 0x21, 0x24, 0x70, 0x91, 0xB0, 0xE0, 0xFF,
        ] as [UInt8])
    func anUnknownTypeDoesNotAffectOtherEntries(marker: UInt8) throws {
        #expect(try value(of: [marker]) == .opaque("a value of an unknown type"))
        var builder = BinaryPlistBuilder()
        let strange = builder.add([marker])
        let entry = builder.add(icon: "https://a.example/a.png")
        let (icon, key, other) = (builder.add("icon"), builder.add("key"), builder.add("other"))
        let url = builder.add("https://a.example/b.png")
        let bad = builder.add(dictionary: [(icon, strange)])
        let good = builder.add(dictionary: [(other, strange), (icon, url), (key, strange)])
        builder.root = Int(builder.add(array: [entry, bad, strange, good]))
        let reading = try readManifest(.bytes(builder.bytes, name: "test"))
        #expect(
            reading.words == [
                "https://a.example/a.png", "icon-not-a-string", "not-a-dictionary",
                "https://a.example/b.png",
            ])
        #expect(reading.ignored == ["key 1 4"])
    }

    @Test(
        arguments: [
            [0x13], [0x23, 0], [0x33, 0], [0x45], [0x55, 0x61], [0x62, 0x00, 0x61, 0x00], [0x8F],
            [0xA1], [0xA1, 0x01], [0xD1, 0x00], [0x5F], [0x5F, 0x50], [0x5F, 0x14],
            [0x5F, 0x13] + [UInt8](repeating: 0xFF, count: 8),
            [0xAF, 0x13] + [UInt8](repeating: 0x7F, count: 8),
            [0xDF, 0x13, 0x80, 0, 0, 0, 0, 0, 0, 0], [0x6F, 0x12, 0x80, 0, 0, 0],
            [0xD1, 0x00, 0x00],
        ] as [[UInt8]])
    func damagedObjectsAreRefused(object: [UInt8]) {
        #expect(throws: ManifestError.self) { try value(of: object) }
    }

    @Test(arguments: [
        (6, 0), (6, 9), (7, 0), (7, 9), (8, 0x80), (15, 0), (15, 200), (16, 0xFF), (23, 9),
        (24, 0xFF), (31, 0), (31, 255),
    ])
    func aWrongTrailerIsRefused(offset: Int, byte: UInt8) {
        var builder = BinaryPlistBuilder()
        _ = builder.add("text")
        var bytes = builder.bytes
        bytes[bytes.count - 32 + offset] = byte
        #expect(throws: ManifestError.self) { try value(bytes) }
    }

    @Test func otherVersionsAndTruncatedFilesAreRefused() {
        var builder = BinaryPlistBuilder()
        _ = builder.add("text")
        var bytes = builder.bytes
        for length in 8..<bytes.count {
            #expect(throws: ManifestError.self) { try value(Array(bytes.prefix(length))) }
        }
        bytes[6] = UInt8(ascii: "1")
        #expect(throws: ManifestError.self) { try value(bytes) }
    }

    @Test func utf16IsDecodedAsByTheStandardLibrary() {
        var generator = Pseudorandom(seed: 16)
        let kinds: [ClosedRange<Int>] = [
            0...0x7F, 0x80...0x7FF, 0x800...0xFFFF, 0xD800...0xDBFF, 0xDC00...0xDFFF,
            0xD7F0...0xE010,
        ]
        for length in 0..<2000 {
            let units = (0..<(length % 40)).map { _ in
                let kind = kinds[generator.next(below: kinds.count)]
                return UInt16(kind.lowerBound + generator.next(below: kind.count))
            }
            let bytes = units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            let expected = Array(String(decoding: units, as: UTF16.self).utf8)
            let isValid = String(validating: units, as: UTF16.self) != nil
            let big = bytes.withUnsafeBytes { String.decoding(utf16: $0, isBigEndian: true) }
            let little = units.map(\.littleEndian).withUnsafeBytes {
                String.decoding(utf16: $0, isBigEndian: false)
            }
            for decoded in [big, little] {
                #expect(Array(decoded.text.utf8) == expected, "\(units)")
                #expect(decoded.isValid == isValid, "\(units)")
            }
        }
    }
}
