extension String {
    /// Decodes UTF-8. If any byte is invalid, percent-encodes non-ASCII bytes, like the URL parser.
    package init(urlBytes bytes: some Collection<UInt8>) {
        self = String(valid: bytes) ?? bytes.percentEncoded { $0 < 0x80 }
    }

    /// This URL with normalized percent-escapes, which is the ``HTTPURL/key`` of a canonical URL.
    /// The parser has already resolved escaped dot segments.
    var normalizingEscapes: String {
        let bytes = Array(utf8).replacingEscapes { value, bytes in
            bytes.append(percentEncoded: value, unless: value.isUnreserved)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Decodes UTF-8, or returns nil. (`String(validating:as:)` needs iOS 18.)
    init?(valid bytes: some Collection<UInt8>) {
        self.init(decoding: bytes, as: UTF8.self)
        guard utf8.elementsEqual(bytes) else { return nil }
    }
}

extension [UInt8] {
    package mutating func append(percentEncoded byte: UInt8, unless isPlain: Bool = false) {
        if isPlain { return append(byte) }
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x41 + value - 10 }
        append(UInt8(ascii: "%"))
        append(digit(byte >> 4))
        append(digit(byte & 15))
    }
}

extension Collection<UInt8> {
    package func percentEncoded(except isPlain: (UInt8) -> Bool) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(count)
        for byte in self { encoded.append(percentEncoded: byte, unless: isPlain(byte)) }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// The decoded bytes. A `%` that does not begin an escape remains.
    package var percentDecoded: [UInt8] { replacingEscapes { $1.append($0) } }

    fileprivate func replacingEscapes(
        _ append: (_ value: UInt8, _ bytes: inout [UInt8]) -> Void
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        var rest = self[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = URLBytes.escaped(rest) {
                append(value, &bytes)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// The scheme before the colon (RFC 3986, section 3.1), or nil for a relative URL.
    package var urlScheme: SubSequence? {
        guard let first, first.isASCIILetterOrDigit, !first.isDigit,
            let colon = firstIndex(where: {
                !$0.isASCIILetterOrDigit && !"+-.".utf8.contains($0)
            }), self[colon] == UInt8(ascii: ":")
        else { return nil }
        return self[..<colon]
    }
}

extension UInt8 {
    /// Whether the byte is an unreserved character (RFC 3986, section 2.3).
    package var isUnreserved: Bool { isASCIILetterOrDigit || "-._~".utf8.contains(self) }
}

package enum URLBytes {
    /// The bytes that are not encoded in a path: `pchar` (RFC 3986, section 3.3) and slashes.
    package static let path = table("/:@!$&'()*+,;=")
    /// The bytes that are not encoded in a query (RFC 3986, section 3.4), without the apostrophe,
    /// as in WHATWG's special-query percent-encode set.
    static let query = table("/?:@!$&()*+,;=")

    private static func table(_ others: String) -> [Bool] {
        (0...0xFF).map { UInt8($0).isUnreserved || others.utf8.contains(UInt8($0)) }
    }

    /// Decodes the two digits at the start of `text`, which follows a percent sign.
    package static func escaped(_ text: some Collection<UInt8>) -> UInt8? {
        var digits = text.prefix(2).makeIterator()
        guard let high = digits.next()?.hexDigit, let low = digits.next()?.hexDigit
        else { return nil }
        return high << 4 | low
    }
}
