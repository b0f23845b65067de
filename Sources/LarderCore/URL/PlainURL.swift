import Foundation

// A fast path for URLs in canonical spelling, the most common case.
extension HTTPURL {
    init?(plain text: String) {
        let found = text.utf8.withContiguousStorageIfAvailable { Self.plain(text, $0) }
        guard let url = found ?? nil else { return nil }
        self = url
    }

    private static func plain(_ string: String, _ text: UnsafeBufferPointer<UInt8>) -> HTTPURL? {
        let isHTTP = text.starts(with: "http://".utf8)
        guard isHTTP || text.starts(with: "https://".utf8) else { return nil }
        let scheme = isHTTP ? Scheme.http : .https
        let start = isHTTP ? 7 : 8
        guard let slash = text.place(of: UInt8(ascii: "/"), from: start),
            let hasEscapes = escapes(in: UnsafeBufferPointer(rebasing: text[slash...]))
        else { return nil }
        let end = text[start..<slash].firstIndex(of: UInt8(ascii: ":")) ?? slash
        guard isPlainHost(UnsafeBufferPointer(rebasing: text[start..<end])) else { return nil }
        var port = scheme.defaultPort
        if end < slash {
            let digits = text[(end + 1)..<slash]
            guard 0x31...0x39 ~= digits.first ?? 0,
                let number = Int(String(decoding: digits, as: UTF8.self)), number <= 65_535,
                number != port
            else { return nil }
            port = number
        }
        let host = String(decoding: text[start..<end], as: UTF8.self)
        return HTTPURL(
            string: string, scheme: scheme, host: host, port: port, hasEscapes: hasEscapes)
    }

    /// Whether a host is canonical: an address, or a name whose last label begins with a letter.
    private static func isPlainHost(_ host: UnsafeBufferPointer<UInt8>) -> Bool {
        func isLetter(_ byte: UInt8) -> Bool { 0x61...0x7A ~= byte }
        var label = 0
        for (position, byte) in host.enumerated() {
            if byte == UInt8(ascii: "."), position > label {
                label = position + 1
            } else if !isLetter(byte), !byte.isDigit, byte != UInt8(ascii: "-") {
                return false
            }
        }
        guard label < host.count else { return false }
        if isLetter(host[label]) { return true }
        var address = in_addr()
        return inet_pton(AF_INET, String(decoding: host, as: UTF8.self), &address) == 1
    }

    /// Whether the path or query has escapes, or nil if the spelling is possibly not canonical.
    private static func escapes(in target: UnsafeBufferPointer<UInt8>) -> Bool? {
        let (path, query) = (URLBytes.path, URLBytes.query)
        var (isQuery, hasEscapes) = (false, false)
        var last: UInt8 = 0
        for (position, byte) in target.enumerated() {
            switch byte {
            case UInt8(ascii: "%"):
                // An escaped dot can be part of a dot segment.
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
}
