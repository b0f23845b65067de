extension String {
    package func percentEncoding(except isPlain: (UInt8) -> Bool) -> String {
        // Grown in place: an array for each byte would take nearly all of the time.
        var encoded: [UInt8] = []
        encoded.reserveCapacity(utf8.count)
        for byte in utf8 {
            if isPlain(byte) { encoded.append(byte) } else { encoded.append(percentEncoded: byte) }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Decodes UTF-8. In other text, bytes beyond ASCII are percent-encoded, as by the parser.
    package init(urlBytes bytes: some Collection<UInt8>) {
        if let text = String(valid: bytes) {
            self = text
            return
        }
        var encoded: [UInt8] = []
        for byte in bytes {
            if byte < 0x80 { encoded.append(byte) } else { encoded.append(percentEncoded: byte) }
        }
        self.init(decoding: encoded, as: UTF8.self)
    }

    /// A canonical spelling with upper-case digits in escapes, and without escapes of unreserved
    /// characters (RFC 3986, sections 6.2.2.1 and 6.2.2.2). No dot segment appears by that, because
    /// the parser resolves segments with escaped dots, too.
    var normalizingEscapes: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count)
        var rest = Array(utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%"), let value = URLBytes.escaped(rest) else {
                bytes.append(byte)
                continue
            }
            rest = rest.dropFirst(2)
            if URLBytes.isUnreserved(value) {
                bytes.append(value)
            } else {
                bytes.append(percentEncoded: value)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension [UInt8] {
    package mutating func append(percentEncoded byte: UInt8) {
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x41 + value - 10 }
        append(UInt8(ascii: "%"))
        append(digit(byte >> 4))
        append(digit(byte & 15))
    }
}

extension Collection<UInt8> {
    /// The decoded bytes. A `%` that begins no escape stays.
    package var percentDecoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        var rest = self[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = URLBytes.escaped(rest) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}

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

    /// Whether the byte is unreserved (RFC 3986, section 2.3).
    static func isUnreserved(_ byte: UInt8) -> Bool {
        byte.isASCIILetterOrDigit || "-._~".utf8.contains(byte)
    }

    /// The value of the two hexadecimal digits that `text` begins with.
    static func escaped(_ text: some Collection<UInt8>) -> UInt8? {
        var digits = text.prefix(2).makeIterator()
        guard let high = digits.next()?.hexDigit, let low = digits.next()?.hexDigit else {
            return nil
        }
        return high << 4 | low
    }
}

extension String {
    /// Nil if the bytes are not UTF-8. (`String(validating:as:)` needs iOS 18.)
    init?(valid bytes: some Collection<UInt8>) {
        self.init(decoding: bytes, as: UTF8.self)
        guard utf8.elementsEqual(bytes) else { return nil }
    }
}
