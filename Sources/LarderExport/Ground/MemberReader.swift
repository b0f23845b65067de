import Foundation

/// Reads the members of a JSON object that was written here, in their order. No dictionary is made
/// of them: to compare keys of somebody's making may take minutes.
struct MemberReader {
    private var rest: ArraySlice<UInt8>

    init(_ text: some Collection<UInt8>) { rest = Array(text)[...] }

    /// Goes on behind these characters; false if others come.
    mutating func skip(_ text: StaticString) -> Bool {
        let isNext = text.withUTF8Buffer { rest.starts(with: $0) }
        if isNext { rest = rest.dropFirst(text.utf8CodeUnitCount) }
        return isNext
    }

    private mutating func skip(key: StaticString) -> Bool {
        skip("\"") && skip(key) && skip("\":")
    }

    /// A member that is a text.
    mutating func text(_ key: StaticString) -> String? {
        guard skip(key: key) else { return nil }
        return text()
    }

    /// A member that is a text or null.
    mutating func textOrNull(_ key: StaticString) -> (text: String?, Void)? {
        guard skip(key: key) else { return nil }
        if skip("null") { return (nil, ()) }
        return text().map { ($0, ()) }
    }

    /// A member that is a count.
    mutating func integer(_ key: StaticString) -> Int64? {
        guard skip(key: key) else { return nil }
        let digits = rest.prefix(while: \.isDigit)
        rest = rest.dropFirst(digits.count)
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    private mutating func text() -> String? {
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        var end = rest.startIndex + 1
        while end < rest.endIndex, rest[end] != UInt8(ascii: "\"") {
            end += rest[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard end < rest.endIndex else { return nil }
        // An array of one, since not every Foundation reads a text alone.
        let json = Data("[".utf8 + rest[...end] + "]".utf8)
        rest = rest[(end + 1)...]
        return (try? JSONSerialization.jsonObject(with: json) as? [Any])?.first as? String
    }
}
