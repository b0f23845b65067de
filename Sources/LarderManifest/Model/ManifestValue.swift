enum ManifestValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int)
    case double(Double)
    case string(String)
    /// A value of a type that entries do not use, such as data or a date in a plist.
    case opaque(String)
    case array([ManifestValue])
    /// The members in file order. If a key repeats, its last member counts.
    case dictionary([Member])

    /// Invalid or forbidden text. Repairing such text would change a URL or digest.
    static let invalidText = ManifestValue.opaque("invalid text")

    struct Member: Equatable, Sendable {
        let key: String
        let value: ManifestValue
    }

    var isBlank: Bool {
        switch self {
        case .null: true
        case .string(let text):
            // For most strings, the first byte decides.
            !(text.utf8.first.map { 0x21...0x7E ~= $0 } ?? false)
                && !text.unicodeScalars.contains { !$0.properties.isWhitespace }
        default: false
        }
    }

    /// Whether any string or key satisfies the predicate. Invalid text always does.
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
