/// Writes one JSON object, member by member, in the order given (RFC 8259).
///
/// By hand, because a report has a line for each of a million entries and `JSONEncoder` takes
/// twenty times as long for one.
package struct JSONObject {
    private var members = ""

    package init() {}

    /// The object's text, without a line end.
    package var text: String { "{" + members + "}" }

    package mutating func set(_ key: String, _ value: String?) {
        begin(key)
        if let value { Self.quote(value, into: &members) } else { members += "null" }
    }

    /// A text that is to be read back as it is, with escapes for what could steer a terminal.
    package mutating func set(_ key: String, exactly value: String) {
        begin(key)
        let isPlain = value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
        if isPlain || !value.unicodeScalars.contains(where: \.steersTerminal) {
            return Self.quote(value, into: &members)
        }
        members += "\""
        for scalar in value.unicodeScalars {
            if scalar.steersTerminal || scalar == "\"" || scalar == "\\" {
                for unit in String(scalar).utf16 { Self.escape(unit, into: &members) }
            } else {
                members.unicodeScalars.append(scalar)
            }
        }
        members += "\""
    }

    package mutating func set(_ key: String, _ value: (some BinaryInteger)?) {
        begin(key)
        members += value.map { String($0) } ?? "null"
    }

    /// Three decimals: milliseconds, where the value is in seconds.
    package mutating func set(_ key: String, _ value: Double?) {
        begin(key)
        // JSON has no infinity, and a number that cannot be rounded is none that anybody meant.
        let rounded = value.map { ($0 * 1000).rounded() / 1000 }
        guard let rounded, rounded.isFinite else { return members += "null" }
        members += String(rounded)
    }

    package mutating func set(_ key: String, _ value: Bool) {
        begin(key)
        members += value ? "true" : "false"
    }

    package mutating func set(_ key: String, _ value: JSONObject?) {
        begin(key)
        members += value?.text ?? "null"
    }

    package mutating func set(_ key: String, _ values: [JSONObject]) {
        begin(key)
        members += "[" + values.map(\.text).joined(separator: ",") + "]"
    }

    package mutating func set(_ key: String, _ values: [String]) {
        begin(key)
        members += "["
        for (position, value) in values.enumerated() {
            if position > 0 { members += "," }
            Self.quote(value, into: &members)
        }
        members += "]"
    }

    private mutating func begin(_ key: String) {
        if !members.isEmpty { members += "," }
        Self.quote(key, into: &members)
        members += ":"
    }

    private static func escape(_ unit: UInt16, into text: inout String) {
        let hex = String(unit, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
    }

    private static func quote(_ value: String, into text: inout String) {
        text += "\""
        if value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C }) {
            text += value
        } else {
            for scalar in value.unicodeScalars {
                switch scalar {
                case "\"": text += "\\\""
                case "\\": text += "\\\\"
                case ..<" ": Self.escape(UInt16(scalar.value), into: &text)
                default: text.unicodeScalars.append(scalar)
                }
            }
        }
        text += "\""
    }
}
