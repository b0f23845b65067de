/// A JSON object (RFC 8259). `JSONEncoder` would be too slow for reports of a million lines.
package struct JSONObject: ExpressibleByDictionaryLiteral {
    private var members = ""

    package init() {}

    package init(dictionaryLiteral members: (String, any JSONRepresentable)...) {
        for (key, value) in members { set(key, value) }
    }

    package var text: String { "{" + members + "}" }

    package mutating func set(_ key: String, _ value: some JSONRepresentable) {
        begin(key)
        value.addJSON(to: &members)
    }

    package mutating func set(_ members: KeyValuePairs<String, any JSONRepresentable>) {
        for (key, value) in members { set(key, value) }
    }

    /// Sets a string, and also escapes characters that could control a terminal.
    package mutating func set(_ key: String, exactly value: String?) {
        begin(key, escapingForTerminal: true)
        value?.addJSON(to: &members, escapingForTerminal: true)
        if value == nil { members += "null" }
    }

    /// Sets a number rounded to six decimal places instead of three.
    package mutating func set(_ key: String, fine value: Double?) {
        begin(key)
        if let value { value.addJSON(to: &members, per: 1_000_000) } else { members += "null" }
    }

    private mutating func begin(_ key: String, escapingForTerminal: Bool = false) {
        if !members.isEmpty { members += "," }
        key.addJSON(to: &members, escapingForTerminal: escapingForTerminal)
        members += ":"
    }
}

package protocol JSONRepresentable {
    func addJSON(to text: inout String)
}

extension JSONObject: JSONRepresentable {
    package func addJSON(to text: inout String) { text += self.text }
}

extension Optional: JSONRepresentable where Wrapped: JSONRepresentable {
    package func addJSON(to text: inout String) {
        if let self { self.addJSON(to: &text) } else { text += "null" }
    }
}

extension Array: JSONRepresentable where Element: JSONRepresentable {
    package func addJSON(to text: inout String) {
        text += "["
        for (position, value) in enumerated() {
            if position > 0 { text += "," }
            value.addJSON(to: &text)
        }
        text += "]"
    }
}

extension Dictionary: JSONRepresentable where Key == String, Value: JSONRepresentable {
    package func addJSON(to text: inout String) {
        var object = JSONObject()
        for (key, value) in sorted(by: { $0.key < $1.key }) { object.set(key, value) }
        object.addJSON(to: &text)
    }
}

extension Bool: JSONRepresentable {
    package func addJSON(to text: inout String) { text += self ? "true" : "false" }
}

extension BinaryInteger {
    package func addJSON(to text: inout String) { text += String(self) }
}

extension Int: JSONRepresentable {}
extension Int32: JSONRepresentable {}
extension Int64: JSONRepresentable {}

extension Double: JSONRepresentable {
    package func addJSON(to text: inout String) { addJSON(to: &text, per: 1_000) }

    fileprivate func addJSON(to text: inout String, per unit: Double) {
        let rounded = (self * unit).rounded() / unit
        text += rounded.isFinite ? String(rounded) : "null"
    }
}

extension String: JSONRepresentable {
    package func addJSON(to text: inout String) { addJSON(to: &text, escapingForTerminal: false) }

    fileprivate func addJSON(to text: inout String, escapingForTerminal: Bool) {
        let isPlain = utf8.allSatisfy {
            $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C && ($0 < 0x7F || !escapingForTerminal)
        }
        if isPlain { return text += "\"\(self)\"" }
        text += "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case _ where scalar < " " || escapingForTerminal && scalar.steersTerminal:
                for unit in String(scalar).utf16 {
                    let hex = String(unit, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
                }
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
