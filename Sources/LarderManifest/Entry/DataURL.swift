import Foundation
import LarderCore

/// `data:` URLs, parsed as in the Fetch standard (https://fetch.spec.whatwg.org/#data-urls).
enum DataURL {
    static func bytes(of text: String) -> [UInt8]? {
        let url = text.bytesOfURL
        guard url.prefix(5).isWord("data:") else { return nil }
        let content = url.dropFirst(5).prefix { $0 != UInt8(ascii: "#") }
        guard let comma = content.firstIndex(of: UInt8(ascii: ",")) else { return nil }
        let body = content[(comma + 1)...].percentDecoded
        return isBase64(content[..<comma]) ? base64Decoded(body) : body
    }

    private static func isBase64(_ type: ArraySlice<UInt8>) -> Bool {
        var type = type
        while let last = type.last, isSpace(last) { type.removeLast() }
        guard type.suffix(6).isWord("base64") else { return false }
        return type.dropLast(6).last { $0 != 0x20 } == UInt8(ascii: ";")
    }

    /// Decodes Base64 as in the Infra standard, which ignores white space and makes padding
    /// optional.
    private static func base64Decoded(_ text: [UInt8]) -> [UInt8]? {
        var text = text.filter { !isSpace($0) }
        if text.count % 4 == 0 {
            for _ in 0..<2 where text.last == UInt8(ascii: "=") { text.removeLast() }
        }
        guard text.count % 4 != 1, !text.contains(UInt8(ascii: "=")) else { return nil }
        text += repeatElement(UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
        return Data(base64Encoded: Data(text)).map(Array.init)
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        [0x09, 0x0A, 0x0C, 0x0D, 0x20].contains(byte)
    }
}
