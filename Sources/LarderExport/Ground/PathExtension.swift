import Foundation

/// What Foundation takes for the extension of a URL's path and of a file's name.
enum PathExtension {
    /// As `NSURL.pathExtension`: of the path with its percent-escapes decoded; "" if it has none.
    /// Nil if the decoded path is no UTF-8, and `NSURL` has none either.
    static func ofURL(_ text: String) -> String? {
        ofPath(decodedPath(of: text)).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// As `NSString.pathExtension`; "" if there is none.
    static func ofText(_ text: String) -> String {
        // Cut between bytes of ASCII, it is UTF-8 again.
        ofPath(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// The last component of a URL's path, decoded; empty if there is none, or it is no UTF-8.
    static func lastComponent(ofURL text: String) -> String {
        decodedPath(of: text).flatMap { path in
            let end = path.lastIndex { $0 != UInt8(ascii: "/") } ?? path.startIndex
            let last = path.isEmpty ? [] : path[...end].split(separator: UInt8(ascii: "/")).last
            return String(validating: Array(last ?? []), as: UTF8.self)
        } ?? ""
    }

    private static func ofPath(_ path: [UInt8]?) -> [UInt8]? {
        guard let path else { return nil }
        guard let last = path.split(separator: UInt8(ascii: "/")).last,
            let dot = last.lastIndex(of: UInt8(ascii: ".")), dot != last.startIndex
        else { return [] }
        return Array(last[(dot + 1)...])
    }

    /// The path of a URL, percent-decoded. It may be any bytes.
    private static func decodedPath(of text: String) -> [UInt8]? {
        let bytes = Array(text.utf8)
        var start = 0
        if let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[colon...].starts(with: "://".utf8)
        {
            let isEnd = { (byte: UInt8) in "/?#".utf8.contains(byte) }
            start = bytes[(colon + 3)...].firstIndex(where: isEnd) ?? bytes.endIndex
        }
        let end = bytes[start...].firstIndex { $0 == 0x3F || $0 == 0x23 } ?? bytes.endIndex
        var path: [UInt8] = []
        var place = start
        while place < end {
            if bytes[place] == UInt8(ascii: "%"), place + 2 < end,
                let high = hexValue(bytes[place + 1]), let low = hexValue(bytes[place + 2])
            {
                path.append(high << 4 | low)
                place += 3
            } else {
                path.append(bytes[place])
                place += 1
            }
        }
        return String(validating: path, as: UTF8.self) == nil ? nil : path
    }

    private static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}
