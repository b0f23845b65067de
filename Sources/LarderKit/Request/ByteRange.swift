import LarderCache
import LarderTransfer

/// What a 206 response carries (RFC 9110, section 14.4): `Content-Range: bytes 100-199/200`.
struct ByteRange: Equatable {
    let first: Int64
    let last: Int64
    /// The length of the whole; nil if it is said to be unknown.
    let total: Int64?

    /// Nil if the field is missing, or names no single range of bytes.
    init?(_ headers: HeaderFields) {
        guard let field = headers[first: "Content-Range"] else { return nil }
        let words = field.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard words.count == 2, words[0].isWord("bytes") else { return nil }
        let halves = words[1].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        let ends = halves[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]),
            first <= last
        else { return nil }
        let total = Self.number(halves[1])
        guard halves[1].isWord("*") || (total.map { last < $0 } ?? false) else { return nil }
        (self.first, self.last, self.total) = (first, last, total)
    }

    private static func number(_ digits: Substring.UTF8View) -> Int64? {
        digits.allSatisfy(\.isDigit) ? Int64(Substring(digits)) : nil
    }
}
