/// A four-character code: a PNG chunk's, RIFF chunk's or ISO box's type.
struct FourCC: Equatable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The four bytes, the first one highest.
    let value: UInt32

    init(value: UInt32) { self.value = value }

    init(stringLiteral text: StaticString) {
        value = text.withUTF8Buffer { $0.reduce(0) { $0 << 8 | UInt32($1) } }
    }

    var isFourLetters: Bool {
        bytes.allSatisfy { (0x41...0x5A).contains($0 & 0xDF) }
    }

    /// The characters in quotes if all are printable, else the number.
    var description: String {
        bytes.allSatisfy { (0x20...0x7E).contains($0) }
            ? "'\(String(decoding: bytes, as: UTF8.self))'"
            : "0x\(String(value, radix: 16))"
    }

    private var bytes: [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
    }
}
