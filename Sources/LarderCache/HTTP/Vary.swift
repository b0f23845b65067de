import Crypto

/// The request header fields that a response was selected by (RFC 9110, section 12.5.5).
package struct Vary: Equatable, Sendable {
    /// Whether the response depends on more than header fields: `*`, alone or among others.
    package let isAny: Bool
    /// The fields' names, in lower case, sorted, each once. Without `accept-encoding`: bodies are
    /// decoded before they are stored, so that it selects the same bytes.
    package let names: [String]

    /// Reads the field's value; several fields are joined by commas first.
    package init(_ field: String) {
        let members = field.split(separator: ",")
            .map { $0.trimmingBlanks.lowercased() }.filter { !$0.isEmpty }
        isAny = members.contains("*")
        names = Set(members).subtracting(["*", "accept-encoding"])
            .sorted()
    }

    /// What tells the variant for a request with these header fields from the others: a digest,
    /// because the values may be secrets, which no index may hold. Nil where no field selects.
    ///
    /// Fields of one name count as one with their values joined, and blanks around a value as none
    /// (RFC 9111, section 4.1).
    package func variant(for fields: [(name: String, value: String)]) -> Digest? {
        guard !names.isEmpty else { return nil }
        var hasher = SHA256()
        for name in names {
            let values = fields.filter { $0.name.lowercased() == name }.map(\.value.trimmingBlanks)
            // A line feed is in no name and no value; `absent` and `empty` must differ.
            let value = values.isEmpty ? "" : ":" + values.joined(separator: ", ")
            hasher.update(data: Array("\(name)\(value)\n".utf8))
        }
        return Digest(hasher.finalize())
    }
}

extension StringProtocol {
    /// Without the spaces and tabs at both ends.
    fileprivate var trimmingBlanks: String {
        func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
        var rest = Substring(self)
        while let first = rest.first, isBlank(first) { rest.removeFirst() }
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(rest)
    }
}
