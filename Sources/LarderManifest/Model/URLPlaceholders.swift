import LarderCore

package struct URLPlaceholders {
    private static let sizes = IconTemplate.sizes.map { Array("{\($0)}".utf8) }
    /// Placeholders that are not filled: Apple's crop and format, and other notations for sizes.
    private static let known = ["{c}", "{f}", "%size%", "%width%", "%height%"]
        .map { Array($0.utf8) }

    package let text: String
    /// The first unfilled placeholder. An unknown word counts only if a size was filled in.
    package let unfilled: String?

    package init(_ text: String, size: Int) {
        let bytes = Array(text.utf8)
        var rest = bytes[...]
        var filled: [UInt8] = []
        var isFilled = false
        var unfilled: ArraySlice<UInt8>?
        var possible: ArraySlice<UInt8>?
        while !rest.isEmpty {
            let isVariable = filled.last == UInt8(ascii: "$")
            if !isVariable, let place = Self.sizes.first(where: { rest.starts(with: $0) }) {
                filled += String(size).utf8
                rest = rest.dropFirst(place.count)
                isFilled = true
                continue
            }
            let place = Self.placeholder(rest)
            if let place {
                if isVariable {
                    unfilled = unfilled ?? bytes[(place.startIndex - 1)..<place.endIndex]
                } else if place.starts(with: "{{".utf8) || Self.known.contains(Array(place)) {
                    unfilled = unfilled ?? place
                } else {
                    possible = possible ?? place
                }
            }
            filled += place ?? rest.prefix(1)
            rest = rest.dropFirst(place?.count ?? 1)
        }
        self.text = isFilled ? String(decoding: filled, as: UTF8.self) : text
        self.unfilled = (unfilled ?? (isFilled ? possible : nil)).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// Returns the `{…}`, `{{…}}` or `%word%` at the start. Stops at other braces, for linear time.
    private static func placeholder(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        switch text.first {
        case UInt8(ascii: "{"):
            let braces = text.starts(with: "{{".utf8) ? 2 : 1
            let close = text.dropFirst(braces).prefix { !"{}".utf8.contains($0) }.endIndex
            let end = text[close...].prefix(braces)
            let isClosed = end.count == braces && end.allSatisfy { $0 == UInt8(ascii: "}") }
            return isClosed ? text[..<end.endIndex] : nil
        case UInt8(ascii: "%"):
            let word = text.dropFirst().prefix {
                0x61...0x7A ~= $0 | 0x20 || $0 == UInt8(ascii: "_")
            }
            let end = word.endIndex
            guard !word.isEmpty, end < text.endIndex, text[end] == UInt8(ascii: "%"),
                URLBytes.escaped(text.dropFirst()) == nil,
                URLBytes.escaped(text[end...].dropFirst()) == nil
            else { return nil }
            return text[...end]
        default: return nil
        }
    }
}
