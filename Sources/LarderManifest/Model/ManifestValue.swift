import LarderCore

enum ManifestValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int)
    case double(Double)
    case string(String, at: SourceSpan = .unknown)
    /// A value of a type that entries do not use, such as a date in a plist.
    case opaque(String)
    case array([ManifestValue])
    /// The members in file order. If a key repeats, the last member is used.
    case dictionary([Member])

    /// An invalid or forbidden string. Repairing it could produce a different URL or digest.
    static let invalidText = ManifestValue.opaque("invalid text")

    struct Member: Equatable, Sendable {
        let key: String
        let value: ManifestValue
    }

    var isBlank: Bool {
        switch self {
        case .null: true
        case .string(let text, _):
            !(text.utf8.first.map { 0x21...0x7E ~= $0 } ?? false)
                && !text.unicodeScalars.contains { !$0.properties.isWhitespace }
        default: false
        }
    }

    /// Whether any string or key in the value matches. Invalid text counts as a match.
    func contains(where isWanted: (String) -> Bool) -> Bool {
        switch self {
        case .string(let text, _): isWanted(text)
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

    static func == (left: ManifestValue, right: ManifestValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.string(let left, _), .string(let right, _)): left.isSame(as: right)
        case (.opaque(let left), .opaque(let right)): left.isSame(as: right)
        case (.array(let left), .array(let right)): left == right
        case (.dictionary(let left), .dictionary(let right)): left == right
        default: false
        }
    }
}

struct RawEntry {
    let line: Int?
    var key: String?
    let content: Result<ManifestValue, EntryError>
    let shape: Int

    func of(_ shape: Int) -> RawEntry {
        RawEntry(line: line, key: key, content: content, shape: shape)
    }
}

/// The place of a value in the decompressed manifest: the token with its quotation marks. In a
/// binary plist, it is the reference to the value, because references may share an object.
struct SourceSpan: Equatable, Sendable {
    /// The start in 40 bits and the length in 24, to save memory, because each string has a span.
    private let packed: UInt64

    static let unknown = SourceSpan(0..<0)

    init(_ bytes: Range<Int>) {
        let fits = bytes.upperBound < 1 << 40 && bytes.count < 1 << 24
        packed = fits ? UInt64(bytes.lowerBound) << 24 | UInt64(bytes.count) : 0
    }

    var bytes: Range<Int> {
        let start = Int(packed >> 24)
        return start..<start + Int(packed & 0xFF_FFFF)
    }
}
