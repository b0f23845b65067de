import LarderCache

/// The part of a body that a request asks for (RFC 9110, section 14.2).
enum RequestedRange: Equatable {
    /// All of it: there is no range, it is none of bytes, it cannot be read, or there are several,
    /// which a server may pass over.
    case whole
    /// So much of it, never empty.
    case part(Range<Int64>)
    /// Nothing of it: it begins behind the end.
    case none

    /// - Parameters:
    ///   - field: the value of `Range`; nil if there is none.
    ///   - size: how many bytes there are.
    init(_ field: String?, size: Int64) {
        self = field.map { Self.parse($0.utf8, size) } ?? .whole
    }

    private static func parse(_ field: String.UTF8View, _ size: Int64) -> RequestedRange {
        guard let equals = field.firstIndex(of: UInt8(ascii: "=")), field[..<equals].isWord("bytes")
        else { return .whole }
        let range = field[field.index(after: equals)...].trimmingBlanks
        guard let dash = range.firstIndex(of: UInt8(ascii: "-")) else { return .whole }
        let (first, last) = (range[..<dash], range[range.index(after: dash)...])
        if first.isEmpty {
            guard let count = number(last) else { return .whole }
            return count > 0 && size > 0 ? .part(max(0, size - count)..<size) : .none
        }
        guard let start = number(first) else { return .whole }
        guard !last.isEmpty else { return start < size ? .part(start..<size) : .none }
        guard let end = number(last), end >= start else { return .whole }
        return start < size ? .part(start..<min(end, size - 1) + 1) : .none
    }

    /// A number of digits alone; one that is too large is larger than any size.
    private static func number(_ digits: Substring.UTF8View) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
        var number: Int64 = 0
        for digit in digits {
            number = min(number, Int64.max / 16) * 10 + Int64(digit - 0x30)
        }
        return number
    }
}
