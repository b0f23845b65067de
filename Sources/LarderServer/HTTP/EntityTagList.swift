import LarderCache

/// The value of `If-None-Match`, `If-Match` or `If-Range` (RFC 9110, section 13.1).
struct EntityTagList {
    private let field: String

    init(_ field: String) { self.field = field }

    /// Whether it names a tag, be it as a weak one, or is `*`: the comparison of `If-None-Match`.
    ///
    /// - Parameter tag: a strong one, with its quotation marks.
    func matchesWeakly(_ tag: String) -> Bool { matches(tag, asWeak: true) }

    /// Whether it names a tag, as a strong one, or is `*`: the comparison of `If-Match`.
    func matchesStrongly(_ tag: String) -> Bool { matches(tag, asWeak: false) }

    private func matches(_ tag: String, asWeak: Bool) -> Bool {
        var rest = field.utf8[...]
        while true {
            rest = rest.drop { $0.isBlank || $0 == UInt8(ascii: ",") }
            guard let first = rest.first else { return false }
            // `*` stands alone.
            if first == UInt8(ascii: "*") { return field.utf8.trimmingBlanks.count == 1 }
            let isWeak = rest.starts(with: "W/".utf8)
            if isWeak { rest = rest.dropFirst(2) }
            guard rest.first == UInt8(ascii: "\"") else { return false }
            let inside = rest.dropFirst()
            guard let end = inside.firstIndex(of: UInt8(ascii: "\"")) else { return false }
            if asWeak || !isWeak, rest[...end].elementsEqual(tag.utf8) { return true }
            rest = rest[rest.index(after: end)...]
        }
    }

    /// Whether it is exactly a tag: the comparison of `If-Range`, to which a date is another tag.
    func isStrongly(_ tag: String) -> Bool { field.utf8.trimmingBlanks.elementsEqual(tag.utf8) }
}
