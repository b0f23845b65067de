/// The parts of a URL that is spelled canonically already, as nearly all are: found in one pass, in
/// a tenth of the time that libcurl's parser takes.
///
/// Whatever is unusual is left to the parser: a URL is plain only if nothing in it has a second
/// meaning or a second spelling.
package struct PlainHTTPURL {
    /// The URL.
    package let string: String
    /// Whether it is an `https` URL.
    package let isSecure: Bool
    /// The host's name, or its IPv4 address.
    package let host: String
    /// The port, the scheme's default filled in.
    package let port: Int

    /// Nil if the text is not plain.
    package init?(_ text: String) {
        let found = text.utf8.withContiguousStorageIfAvailable { Self.parts(of: $0) }
        guard let parts = found ?? nil else { return nil }
        string = text
        isSecure = parts.isSecure
        port = parts.port ?? Self.defaultPort(isSecure: parts.isSecure)
        let bytes = text.utf8
        let start = bytes.index(bytes.startIndex, offsetBy: parts.host.lowerBound)
        host = String(text[start..<bytes.index(start, offsetBy: parts.host.count)])
    }

    static func defaultPort(isSecure: Bool) -> Int { isSecure ? 443 : 80 }

    private typealias Parts = (isSecure: Bool, host: Range<Int>, port: Int?)

    private static func parts(of text: UnsafeBufferPointer<UInt8>) -> Parts? {
        let isHTTP = text.starts(with: "http://".utf8)
        guard isHTTP || text.starts(with: "https://".utf8) else { return nil }
        let start = isHTTP ? 7 : 8
        var end = start
        while end < text.count, isInHost(text[end]) { end += 1 }
        guard isHost(UnsafeBufferPointer(rebasing: text[start..<end])) else { return nil }
        var position = end
        var port: Int?
        if position < text.count, text[position] == UInt8(ascii: ":") {
            guard let found = number(text, after: &position), 1...65_535 ~= found,
                found != defaultPort(isSecure: !isHTTP)
            else { return nil }
            port = found
        }
        guard position < text.count, isTarget(UnsafeBufferPointer(rebasing: text[position...]))
        else { return nil }
        return (!isHTTP, start..<end, port)
    }

    private static func isInHost(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }

    /// Whether it is a name in lower case whose last label begins with a letter, so that it is no
    /// number in disguise, or four decimal numbers.
    private static func isHost(_ host: UnsafeBufferPointer<UInt8>) -> Bool {
        var labels = 0
        var start = 0
        var isNumeric = true
        for position in 0...host.count
        where position == host.count || host[position] == UInt8(ascii: ".") {
            guard position > start else { return false }
            labels += 1
            isNumeric = isNumeric && isDecimalByte(host[start..<position])
            if position == host.count, isLetter(host[start]) { return true }
            start = position + 1
        }
        return labels == 4 && isNumeric
    }

    /// Whether it is a number up to 255 in its only spelling.
    private static func isDecimalByte(_ label: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard label.count <= 3, label.count == 1 || label.first != UInt8(ascii: "0") else {
            return false
        }
        var number = 0
        for byte in label {
            guard isDigit(byte) else { return false }
            number = number * 10 + Int(byte - 0x30)
        }
        return number <= 255
    }

    /// The number after a colon, without leading zeros; `position` then is behind it.
    private static func number(
        _ text: UnsafeBufferPointer<UInt8>, after position: inout Int
    ) -> Int? {
        let start = position + 1
        position = start
        var number = 0
        while position < text.count, isDigit(text[position]), position - start < 6 {
            number = number * 10 + Int(text[position] - 0x30)
            position += 1
        }
        return position > start && text[start] != UInt8(ascii: "0") ? number : nil
    }

    /// Whether it is a path, and perhaps a query, of characters that stand for themselves and of
    /// percent-encoded ones, without a segment that begins with a dot.
    private static func isTarget(_ target: UnsafeBufferPointer<UInt8>) -> Bool {
        guard target.first == UInt8(ascii: "/"), target.last != UInt8(ascii: "?") else {
            return false
        }
        let isPlain = Self.isPlain
        var isQuery = false
        var last: UInt8 = 0
        for (position, byte) in target.enumerated() {
            switch byte {
            case UInt8(ascii: "%"):
                guard isEncoded(target.dropFirst(position + 1).prefix(2)) else { return false }
            case UInt8(ascii: "."):
                if last == UInt8(ascii: "/"), !isQuery { return false }
            case UInt8(ascii: "?"):
                isQuery = true
            default:
                guard byte < 0x80, isPlain[Int(byte)] else { return false }
            }
            last = byte
        }
        return true
    }

    /// Whether it is a byte in hexadecimal, in upper case. A dot is not: it may count as one.
    private static func isEncoded(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        digits.count == 2 && digits.allSatisfy { isDigit($0) || 0x41...0x46 ~= $0 }
            && !digits.elementsEqual("2E".utf8)
    }

    /// Which bytes of ASCII stand for themselves in a target.
    private static let isPlain: [Bool] = (0..<0x80).map { byte in
        isLetter(byte | 0x20) || isDigit(byte) || "/-_~!$&'()*+,;=:@".utf8.contains(byte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { 0x61...0x7A ~= byte }
    private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }
}
