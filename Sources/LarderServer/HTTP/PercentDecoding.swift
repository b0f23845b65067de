/// Percent-decoding of what a client sends (RFC 3986, section 2.1).
enum PercentDecoding {
    /// The bytes that a text stands for; a plus sign stands for itself. Nil if a percent sign has
    /// not two digits behind it.
    static func bytes(_ text: Substring.UTF8View) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit),
                let low = rest.popFirst().flatMap(digit)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Returns the URL that `text` stands for, without the tabs and line breaks that the URL
    /// standard removes; nil if it is not text, or has other control characters.
    static func url(_ text: Substring.UTF8View) -> String? {
        bytes(text).flatMap { Self.text(of: $0.filter { !"\t\n\r".utf8.contains($0) }) }
    }

    /// The text that it stands for; nil if that is none, or has control characters.
    static func text(_ text: Substring.UTF8View) -> String? { bytes(text).flatMap(Self.text(of:)) }

    private static func text(of bytes: [UInt8]) -> String? {
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
