import Foundation

/// The host parser (WHATWG, section 3.5), for special schemes. IPv4 addresses in any notation of
/// `inet_aton` become four decimal numbers, so that no address looks like a name.
enum URLHost {
    static func parse(_ text: ByteSlice) throws(HTTPURL.ParseError) -> String {
        if text.first == UInt8(ascii: "[") {
            guard text.last == UInt8(ascii: "]"), let pieces = ipv6(text.dropFirst().dropLast())
            else { throw .malformed("the host is not an IPv6 address") }
            return serialized(pieces)
        }
        let name = try asciiName(text.percentDecoded)
        guard !name.isEmpty else { throw .malformed("no host") }
        guard !name.contains(where: isForbidden)
        else { throw .malformed("the host has an invalid character") }
        // Some resolvers read hosts with empty labels as addresses.
        guard !name.holds(".."), name != [UInt8(ascii: ".")]
        else { throw .malformed("the host has an empty label") }
        // If the last label is a number, the host is an IPv4 address.
        guard let last = labels(of: name).last, !last.isEmpty,
            last.allSatisfy(\.isDigit) || number(last) != nil
        else { return String(decoding: name, as: UTF8.self) }
        guard let host = ipv4(name) else { throw .malformed("the host is not an IPv4 address") }
        return host
    }

    private static func asciiName(_ name: [UInt8]) throws(HTTPURL.ParseError) -> [UInt8] {
        guard name.contains(where: { $0 >= 0x80 }) else { return name.lowercasedASCII }
        guard let text = String(valid: name) else { throw .malformed("the host is not UTF-8") }
        guard let convert = InternationalHosts.converter
        else { throw .malformed("the host is not ASCII, and this program cannot convert it") }
        // The conversion may create delimiters, for example from a full-width slash.
        guard !name.contains(where: isForbidden), let ascii = convert(text), !ascii.isEmpty,
            ascii.utf8.allSatisfy({ $0.isASCIILetterOrDigit || "-._".utf8.contains($0) })
        else { throw .malformed("the host is not a valid international domain name") }
        return ascii.utf8.lowercasedASCII
    }

    private static func isForbidden(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == 0x7F || "#%/:<>?@[\\]^|".utf8.contains(byte)
    }

    private static func labels(of name: [UInt8]) -> [ByteSlice] {
        var labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
        return labels
    }

    private static func ipv4(_ name: [UInt8]) -> String? {
        let labels = labels(of: name)
        let numbers = labels.compactMap(number)
        guard labels.count <= 4, numbers.count == labels.count, let last = numbers.last,
            numbers.dropLast().allSatisfy({ $0 <= 255 }),
            last < UInt64(1) << (8 * (5 - UInt64(labels.count)))
        else { return nil }
        var address = last
        for (place, number) in numbers.dropLast().enumerated() {
            address += number << (8 * (3 - UInt64(place)))
        }
        return (0..<4).map { String(address >> (24 - 8 * $0) & 255) }.joined(separator: ".")
    }

    /// Parses a decimal, octal or hexadecimal number. Returns 2^32 if it exceeds 64 bits.
    private static func number(_ label: ByteSlice) -> UInt64? {
        guard !label.isEmpty else { return nil }
        var digits = label
        var radix = 10
        if label.starts(with: "0x".utf8) || label.starts(with: "0X".utf8) {
            (digits, radix) = (label.dropFirst(2), 16)
        } else if label.count > 1, label.first == UInt8(ascii: "0") {
            (digits, radix) = (label.dropFirst(), 8)
        }
        guard digits.allSatisfy({ ($0.hexDigit ?? 16) < radix }) else { return nil }
        return UInt64("0" + String(decoding: digits, as: UTF8.self), radix: radix) ?? 1 << 32
    }

    private static func ipv6(_ text: ByteSlice) -> [UInt16]? {
        var address = in6_addr()
        // Darwin also accepts a zone after a percent sign.
        guard !text.contains(where: { $0 == 0 || $0 == UInt8(ascii: "%") }),
            inet_pton(AF_INET6, String(decoding: text, as: UTF8.self), &address) == 1
        else { return nil }
        return withUnsafeBytes(of: address) { bytes in
            (0..<8).map { UInt16(bytes[2 * $0]) << 8 | UInt16(bytes[2 * $0 + 1]) }
        }
    }

    /// Returns the IPv6 address, with the first longest run of at least two zeros written as `::`.
    private static func serialized(_ pieces: [UInt16]) -> String {
        var (longest, start) = (0..<1, 0)
        for (index, piece) in pieces.enumerated() {
            if piece != 0 { start = index + 1 }
            if index + 1 - start > longest.count { longest = start..<(index + 1) }
        }
        func text(_ pieces: ArraySlice<UInt16>) -> String {
            pieces.map { String($0, radix: 16) }.joined(separator: ":")
        }
        guard longest.count > 1 else { return "[\(text(pieces[...]))]" }
        return "[\(text(pieces[..<longest.lowerBound]))::\(text(pieces[longest.upperBound...]))]"
    }
}

/// The conversion of international hosts to ASCII (`xn--`, UTS #46). Without a converter,
/// ``HTTPURL`` rejects international hosts.
public enum InternationalHosts {
    /// Returns the ASCII form of a host, or nil if the host is invalid.
    public typealias Converter = @Sendable (String) -> String?

    /// Installs the process's converter, unless one is already installed.
    public static func install(_ converter: @escaping Converter) {
        lock.withLock { if installed == nil { installed = converter } }
    }

    static var converter: Converter? { lock.withLock { installed } }

    // Safe because `lock` protects the variable.
    private nonisolated(unsafe) static var installed: Converter?
    private static let lock = NSLock()
}
