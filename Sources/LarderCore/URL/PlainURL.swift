// A fast path for URLs in canonical spelling, the most common case.
extension HTTPURL {
    init?(plain text: String) {
        let found = text.utf8.withContiguousStorageIfAvailable { PlainURL.parts(of: $0) }
        guard let parts = found ?? nil else { return nil }
        let bytes = text.utf8
        let start = bytes.index(bytes.startIndex, offsetBy: parts.host.lowerBound)
        self.init(
            string: text, scheme: parts.scheme,
            host: String(text[start..<bytes.index(start, offsetBy: parts.host.count)]),
            port: parts.port ?? parts.scheme.defaultPort, hasEscapes: parts.hasEscapes)
    }
}

private enum PlainURL {
    typealias Parts = (scheme: HTTPURL.Scheme, host: Range<Int>, port: Int?, hasEscapes: Bool)

    static func parts(of text: UnsafeBufferPointer<UInt8>) -> Parts? {
        let isHTTP = text.starts(with: "http://".utf8)
        guard isHTTP || text.starts(with: "https://".utf8) else { return nil }
        let scheme = isHTTP ? HTTPURL.Scheme.http : .https
        let start = isHTTP ? 7 : 8
        var end = start
        while end < text.count, isInHost(text[end]) { end += 1 }
        guard isHost(UnsafeBufferPointer(rebasing: text[start..<end])) else { return nil }
        var position = end
        var port: Int?
        if position < text.count, text[position] == UInt8(ascii: ":") {
            guard let found = number(text, after: &position), 1...65_535 ~= found,
                found != scheme.defaultPort
            else { return nil }
            port = found
        }
        guard position < text.count,
            let hasEscapes = escapes(in: UnsafeBufferPointer(rebasing: text[position...]))
        else { return nil }
        return (scheme, start..<end, port, hasEscapes)
    }

    private static func isInHost(_ byte: UInt8) -> Bool {
        isLetter(byte) || byte.isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }

    /// Whether a host is a decimal IPv4 address or a lower-case name. A name's last label must
    /// begin with a letter, because a host that ends in a number is an address.
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

    private static func isDecimalByte(_ label: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard label.count <= 3, label.count == 1 || label.first != UInt8(ascii: "0")
        else { return false }
        return label.allSatisfy(\.isDigit) && label.reduce(0) { $0 * 10 + Int($1 - 0x30) } <= 255
    }

    private static func number(
        _ text: UnsafeBufferPointer<UInt8>, after position: inout Int
    ) -> Int? {
        let start = position + 1
        position = start
        var number = 0
        while position < text.count, text[position].isDigit, position - start < 6 {
            number = number * 10 + Int(text[position] - 0x30)
            position += 1
        }
        return position > start && text[start] != UInt8(ascii: "0") ? number : nil
    }

    /// Whether the target has escapes. Nil if the path or query may not be canonical.
    private static func escapes(in target: UnsafeBufferPointer<UInt8>) -> Bool? {
        guard target.first == UInt8(ascii: "/") else { return nil }
        let (path, query) = (URLBytes.path, URLBytes.query)
        var (isQuery, hasEscapes) = (false, false)
        var last: UInt8 = 0
        for (position, byte) in target.enumerated() {
            switch byte {
            case UInt8(ascii: "%"):
                // An escaped dot may form a dot segment.
                guard let value = URLBytes.escaped(target[(position + 1)...]),
                    value != UInt8(ascii: ".")
                else { return nil }
                hasEscapes = true
            case UInt8(ascii: "."):
                if last == UInt8(ascii: "/"), !isQuery { return nil }
            case UInt8(ascii: "?"): isQuery = true
            default:
                guard isQuery ? query[Int(byte)] : path[Int(byte)] else { return nil }
            }
            last = byte
        }
        return hasEscapes
    }

    private static func isLetter(_ byte: UInt8) -> Bool { 0x61...0x7A ~= byte }
}
