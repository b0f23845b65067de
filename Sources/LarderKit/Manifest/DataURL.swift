import Foundation
import LarderCache

/// The bytes that a `data:` URL holds (RFC 2397).
enum DataURL {
    /// Nil if the text is not one.
    static func bytes(_ text: String) -> [UInt8]? {
        guard text.begins(with: "data:"), let comma = text.utf8.firstIndex(of: UInt8(ascii: ","))
        else { return nil }
        let head = text.utf8[..<comma].suffix(7)
        guard let content = percentDecoded(text[text.utf8.index(after: comma)...].utf8) else {
            return nil
        }
        guard head.isWord(";base64") else { return content }
        // Lists break long texts into lines, and leave out the padding.
        var base64 = content.filter { $0 > 0x20 }
        while base64.last == UInt8(ascii: "=") { base64.removeLast() }
        base64 += Array(repeating: UInt8(ascii: "="), count: (4 - base64.count % 4) % 4)
        return Data(base64Encoded: Data(base64)).map(Array.init)
    }

    private static func percentDecoded(_ text: Substring.UTF8View) -> [UInt8]? {
        guard text.contains(UInt8(ascii: "%")) else { return Array(text) }
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            // No sign, which the number's own parser would take.
            guard let digits = String(rest.prefix(2)), let value = UInt8(digits, radix: 16),
                digits.utf8.count == 2, digits.utf8.first != UInt8(ascii: "+")
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
