enum ManifestValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int)
    case double(Double)
    case string(String)
    /// A kind that no key of an entry takes, such as a plist's data or date; its value is dropped.
    case opaque(String)
    case array([ManifestValue])
    /// In the file's order; of members with the same key the last one counts.
    case dictionary([Member])

    /// Text that is not valid or that its format forbids. It is never replaced, because a URL or a
    /// digest would become another one.
    static let invalidText = ManifestValue.opaque("invalid text")

    struct Member: Equatable, Sendable {
        let key: String
        let value: ManifestValue
    }

    var isBlank: Bool {
        switch self {
        case .null: true
        case .string(let text):
            // Of nearly all, the first byte tells.
            !(text.utf8.first.map { 0x21...0x7E ~= $0 } ?? false)
                && !text.unicodeScalars.contains { !$0.properties.isWhitespace }
        default: false
        }
    }

    /// Whether any text in it is wanted, keys included. Invalid text may always be.
    func contains(where isWanted: (String) -> Bool) -> Bool {
        switch self {
        case .string(let text): isWanted(text)
        case .array(let elements): elements.contains { $0.contains(where: isWanted) }
        case .dictionary(let members):
            members.contains { isWanted($0.key) || $0.value.contains(where: isWanted) }
        case .opaque: self == .invalidText
        case .null, .bool, .integer, .double: false
        }
    }

    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer: "an integer"
        case .double: "a number"
        case .string: "a string"
        case .opaque(let kind): kind
        case .array: "an array"
        case .dictionary: "a dictionary"
        }
    }
}

struct RawEntry {
    let line: Int?
    var key: String?
    let content: Result<ManifestValue, EntryError>
    var shape: Int
}
