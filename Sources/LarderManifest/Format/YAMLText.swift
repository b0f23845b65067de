import LarderCore

enum YAMLText {
    static let template =
        "the file is a template ({{ … }}), not a manifest; run its template engine first"

    static let frontMatter =
        "the file is a template with front matter (---), not a manifest;"
        + " run its template engine first"

    /// Returns the type of a plain scalar by the core schema of YAML 1.2. `yes`, `no`, `on` and
    /// `off` are strings, as they may be names of icons. So are `.inf` and `.nan`.
    static func value(_ text: String, at span: SourceSpan) -> ManifestValue {
        word(text) ?? .string(text, at: span)
    }

    private static func word(_ text: String) -> ManifestValue? {
        let count = text.utf8.count
        guard let first = text.utf8.first else { return .null }
        switch first {
        case UInt8(ascii: "~") where count == 1: return .null
        case UInt8(ascii: "n") where count == 4, UInt8(ascii: "N") where count == 4:
            return ["null", "Null", "NULL"].contains(where: text.isSame) ? .null : nil
        case UInt8(ascii: "t") where count == 4, UInt8(ascii: "T") where count == 4:
            return ["true", "True", "TRUE"].contains(where: text.isSame) ? .bool(true) : nil
        case UInt8(ascii: "f") where count == 5, UInt8(ascii: "F") where count == 5:
            return ["false", "False", "FALSE"].contains(where: text.isSame) ? .bool(false) : nil
        case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), 0x30...0x39:
            return count <= 64 ? number(text) : nil
        default: return nil
        }
    }

    private static func number(_ text: String) -> ManifestValue? {
        var hasDigit = false
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39: hasDigit = true
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "E"),
                UInt8(ascii: "e"):
                continue
            case UInt8(ascii: "x"): return integer(text, "0x", radix: 16)
            case UInt8(ascii: "o"): return integer(text, "0o", radix: 8)
            default: return nil
            }
        }
        guard hasDigit else { return nil }
        return Int(text).map { .integer($0) } ?? Double(text).map { .double($0) }
    }

    private static func integer(_ text: String, _ prefix: String, radix: Int) -> ManifestValue? {
        guard text.utf8.starts(with: prefix.utf8) else { return nil }
        return Int(text.dropFirst(2), radix: radix).map { .integer($0) }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns the index after `count` characters of UTF-8.
    func position(after count: Int, from start: Int) -> Int {
        guard let base = baseAddress else { return start }
        var position = start
        var rest = count
        while rest > 0, position < self.count {
            if rest >= 8, position + 8 <= self.count,
                UnsafeRawPointer(base + position).loadUnaligned(as: UInt64.self)
                    & 0x8080_8080_8080_8080 == 0
            {
                position += 8
                rest -= 8
                continue
            }
            position += 1
            while position < self.count, base[position] & 0xC0 == 0x80 { position += 1 }
            rest -= 1
        }
        return position
    }

    /// Returns the index after the anchor and the tag of a YAML node, and the white space and
    /// comments after them.
    func endOfProperties(_ start: Int, _ end: Int) -> Int {
        var position = start
        while position < end {
            switch self[position] {
            case UInt8(ascii: "&"), UInt8(ascii: "!"):
                while position < end, !self[position].isMarkupBlank { position += 1 }
            case UInt8(ascii: "#"):
                while position < end, self[position] != 0x0A, self[position] != 0x0D {
                    position += 1
                }
            case let byte where byte.isMarkupBlank: position += 1
            default: return position
            }
        }
        return position
    }

    /// Whether the first line with content looks like YAML: a list item, a key, a directive or the
    /// start of a document. Prose and CSV do not.
    var isYAML: Bool {
        var isAfterStart = false
        var isAfterWords = false
        for line in split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let text = line.drop(while: \.isBlank)
            guard let first = text.first, first != UInt8(ascii: "#") else { continue }
            if isAfterWords {
                return text.startIndex > line.startIndex || first == UInt8(ascii: "-")
            }
            if text.starts(with: "%YAML ".utf8) || text.starts(with: "%TAG ".utf8) { return true }
            if text.starts(with: "---".utf8) {
                let rest = text.dropFirst(3).drop(while: \.isBlank)
                if !rest.isEmpty, rest.first != UInt8(ascii: "#") {
                    return rest.startIndex > text.startIndex + 3
                        && "[{!&\"'|>".utf8.contains(rest.first ?? 0)
                }
                isAfterStart = true
                continue
            }
            if isAfterStart, text.starts(with: "...".utf8) { continue }
            guard !text.contains(where: { $0 < 0x20 && $0 != 0x09 }) else { return false }
            if isAfterStart || line.startIndex > 0, "[{".utf8.contains(first) { return true }
            let rest = text.dropFirst()
            if first == UInt8(ascii: "-") || first == UInt8(ascii: "?") {
                return rest.first?.isBlank ?? true
            }
            guard text.isWords else { return text.isYAMLKey }
            isAfterWords = true
        }
        return false
    }

    /// Whether XML or HTML follows a line `---`, as in templates with front matter.
    var hasFrontMatter: Bool {
        guard starts(with: "---".utf8) else { return false }
        let head = prefix(4 << 10)
        return head.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }).contains {
            $0.starts(with: "<?xml".utf8) || $0.prefix(9).isWord("<!doctype")
                || $0.prefix(5).isWord("<html")
        }
    }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
    /// Whether the line is several words and a colon: a key if an indented line follows.
    fileprivate var isWords: Bool {
        let text = trimmingBlanks
        return text.last == UInt8(ascii: ":") && text.count <= 128
            && text.contains(where: \.isBlank)
            && !text.dropLast().contains(UInt8(ascii: ":"))
            && !"\"'-?".utf8.contains(first ?? 0)
    }

    /// Whether the line starts with a key of one word or in quotation marks.
    fileprivate var isYAMLKey: Bool {
        var rest = self
        if let mark = first, mark == UInt8(ascii: "\"") || mark == UInt8(ascii: "'") {
            rest = dropFirst().drop { $0 != mark }.dropFirst()
        } else {
            rest = drop { $0 != UInt8(ascii: ":") && !$0.isBlank }
            guard rest.startIndex > startIndex else { return false }
        }
        return rest.first == UInt8(ascii: ":") && (rest.dropFirst().first?.isBlank ?? true)
    }
}
