/// The classes of bytes in a URL.
enum URLBytes {
    /// The bytes that are not encoded in a path: RFC 3986's `pchar` (section 3.3) and slashes. The
    /// WHATWG path percent-encode set lacks ``| [ ]`` and, in older versions, `^`.
    static let path = table("/:@!$&'()*+,;=")
    /// The bytes that are not encoded in a query: the same and `?` (RFC 3986, section 3.4), without
    /// the apostrophe, which the WHATWG special-query percent-encode set has.
    static let query = table("/?:@!$&()*+,;=")

    private static func table(_ others: String) -> [Bool] {
        (0...0xFF).map { isUnreserved(UInt8($0)) || others.utf8.contains(UInt8($0)) }
    }

    /// Whether it is a letter, a digit or one of `-._~` (RFC 3986, section 2.3).
    static func isUnreserved(_ byte: UInt8) -> Bool {
        byte.isASCIILetterOrDigit || "-._~".utf8.contains(byte)
    }

    /// The value of two hexadecimal digits at the start of `text`; nil if it does not begin with
    /// them.
    static func escaped(_ text: some Collection<UInt8>) -> UInt8? {
        var digits = text.prefix(2).makeIterator()
        guard let high = digits.next().flatMap(digit), let low = digits.next().flatMap(digit) else {
            return nil
        }
        return high << 4 | low
    }

    static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}

extension UInt8 {
    package var isASCIILetterOrDigit: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}

extension String {
    /// The text of bytes; nil if they are not UTF-8. (`String(validating:as:)` needs iOS 18.)
    init?(valid bytes: some Collection<UInt8>) {
        self.init(decoding: bytes, as: UTF8.self)
        guard utf8.elementsEqual(bytes) else { return nil }
    }
}
