import CCurl
import Foundation
import LarderCore

/// The fields of an HTTP head, in order. Names are case-insensitive and may repeat (RFC 9110,
/// section 5). Stored as bytes and ranges, because most values are never read.
package struct HeaderFields: Sendable, CustomStringConvertible {
    private let lines: [UInt8]
    private let fields: [(name: Range<Int>, value: Range<Int>)]

    init(lines: [UInt8]) {
        self.lines = lines
        fields = lines.withUnsafeBufferPointer { bytes in
            var fields: [(name: Range<Int>, value: Range<Int>)] = []
            fields.reserveCapacity(16)
            var start = 0
            while start < bytes.count {
                let end = bytes.place(of: UInt8(ascii: "\n"), from: start) ?? bytes.count
                let line = UnsafeBufferPointer(rebasing: bytes[start..<end])
                if let colon = line.place(of: UInt8(ascii: ":")).map({ $0 + start }) {
                    fields.append((name: start..<colon, value: colon + 1..<end))
                }
                start = end + 1
            }
            return fields
        }
    }

    package subscript(first name: String) -> String? { all(name).first }

    package func url(_ name: String) -> String? {
        values(of: name) { String(urlBytes: $0) }.first
    }

    package func all(_ name: String) -> [String] {
        values(of: name) { String(decoding: $0, as: UTF8.self) }
    }

    /// Parses a field's date with libcurl, which accepts more formats than HTTP defines.
    package func date(_ name: String) -> Date? {
        guard let text = self[first: name] else { return nil }
        let seconds = curl_getdate(text, nil)
        return seconds == -1 ? nil : Date(timeIntervalSince1970: Double(seconds))
    }

    /// The content codings in lower case and in order, without `identity` and the invalid `none`.
    package var contentCodings: [String] {
        words(of: "Content-Encoding", except: ["identity", "none"])
    }

    /// The first content coding that is not supported. Some servers send words such as `UTF-8`.
    package var unknownContentCoding: String? { contentCodings.first { !BodyDecoder.knows($0) } }

    var transferCodings: [String] {
        words(of: "Transfer-Encoding", except: ["identity", "chunked"])
    }

    package func words(of name: String, except meaningless: [String] = []) -> [String] {
        all(name).flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }
            .map { String(Substring(Self.trimmed($0))).lowercased() }
            .filter { word in !word.isEmpty && !meaningless.contains { $0.isSame(as: word) } }
    }

    /// Whether the name is a token, and the value has no control characters (RFC 9110, section 5).
    package static func isSendable(name: some StringProtocol, value: some StringProtocol) -> Bool {
        func isToken(_ byte: UInt8) -> Bool {
            byte.isASCIILetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
        return !name.isEmpty && name.utf8.allSatisfy(isToken)
            && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    /// Passes the value of each field with the name to `read`, without white space at its ends.
    private func values<Value>(
        of name: String, _ read: (UnsafeBufferPointer<UInt8>) -> Value
    ) -> [Value] {
        var (name, values) = (name, [Value]())
        name.withUTF8 { name in
            lines.withUnsafeBufferPointer { bytes in
                for field in fields where field.name.count == name.count {
                    let isSame = name.indices.allSatisfy {
                        name[$0].lowercasedASCII
                            == bytes[field.name.lowerBound + $0].lowercasedASCII
                    }
                    guard isSame else { continue }
                    let value = Self.trimmed(bytes[field.value])
                    values.append(read(UnsafeBufferPointer(rebasing: value)))
                }
            }
        }
        return values
    }

    private static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes
    where Bytes.SubSequence == Bytes {
        func isText(_ byte: UInt8) -> Bool { !byte.isBlank && byte != 0x0D }
        let start = bytes.drop { !isText($0) }
        return start.lastIndex(where: isText).map { start[...$0] } ?? start
    }

    /// The fields as text, which is not safe for a terminal.
    package var description: String { String(decoding: lines, as: UTF8.self) }
}
