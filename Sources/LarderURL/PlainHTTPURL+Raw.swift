extension PlainHTTPURL {
    /// The URL with those characters as they are that `URL(string:)` percent-encodes and libcurl
    /// does not, such as `|` and `[`; nil if there is none.
    ///
    /// A URL that a manifest spells with them has them in its canonical spelling, and an app has
    /// the other one.
    package var raw: String? {
        var bytes: [UInt8] = []
        var rest = Array(string.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%"), let code = Self.code(rest.prefix(2)),
                Self.isEncodedByURL(code, before: rest.dropFirst(2))
            else {
                bytes.append(byte)
                continue
            }
            bytes.append(code)
            rest = rest.dropFirst(2)
        }
        let raw = String(decoding: bytes, as: UTF8.self)
        return bytes.count == string.utf8.count ? nil : raw
    }

    private static func isEncodedByURL(_ code: UInt8, before rest: ArraySlice<UInt8>) -> Bool {
        // A percent sign only if it encodes nothing.
        if code == UInt8(ascii: "%") { return Self.code(rest.prefix(2)) == nil }
        return #""<>[\]^`{|}"#.utf8.contains(code)
    }

    /// The byte that two hexadecimal digits stand for.
    private static func code(_ digits: ArraySlice<UInt8>) -> UInt8? {
        guard digits.count == 2, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit })
        else { return nil }
        return UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}
