import Crypto

/// The request header fields that a response was selected by (RFC 9110, section 12.5.5).
package struct Vary: Equatable, Sendable {
    /// Whether the response depends on more than header fields: `*`, alone or among others.
    package let isAny: Bool
    /// The fields' names, in lower case, sorted, each once. Without `accept-encoding`: bodies are
    /// decoded before they are stored, so that it selects the same bytes. And without what is
    /// beyond ASCII, which no field's name is.
    package let names: [String]

    /// Reads the field's value; several fields are joined by commas first.
    package init(_ field: String) {
        var isAny = false
        var names: Set<String> = []  // text: ASCII
        for member in field.utf8.split(separator: UInt8(ascii: ",")).map(\.trimmingBlanks) {
            if member.isWord("*") {
                isAny = true
            } else if !member.isEmpty, !member.isWord("accept-encoding"),
                member.allSatisfy({ $0 < 0x80 })
            {
                names.insert(String(decoding: member.lowercasedASCII, as: UTF8.self))
            }
        }
        self.isAny = isAny
        self.names = names.sorted()
    }

    /// What tells the variant for a request with these header fields from the others: a digest,
    /// because the values may be secrets, which no index may hold. Nil if no field selects.
    ///
    /// Fields of one name count as one with their values joined, and blanks around a value as none
    /// (RFC 9111, section 4.1).
    package func variant(for fields: [(name: String, value: String)]) -> Digest? {
        guard !names.isEmpty else { return nil }
        var sent: [[UInt8]: [UInt8]] = [:]
        for (name, value) in fields {
            let name = name.utf8.lowercasedASCII
            // A line feed is in no name and no value; `absent` and `empty` must differ.
            sent[name] =
                (sent[name].map { $0 + Array(", ".utf8) } ?? Array(":".utf8))
                + value.utf8.trimmingBlanks
        }
        var hasher = SHA256()
        for name in names {
            let name = Array(name.utf8)
            hasher.update(data: name + (sent[name] ?? []) + Array("\n".utf8))
        }
        return Digest(hasher.finalize())
    }
}
