import LarderXML

/// One pass over an XML property list, element by element.
final class PlistReader {
    typealias Node = XMLReader.Node

    private let reader: XMLReader
    private let window: ByteWindow

    init(_ window: ByteWindow, limits: ManifestLimits) throws {
        let window = try XMLEncoding.decoded(window)
        self.window = window
        let rules = XMLRules(
            elements: PlistElement.names, containers: ["plist", "array", "dict"],
            maximumTextBytes: limits.maximumEntrySize, permitsDocumentType: true,
            forbiddenReference: TextDecoder.invalid)
        reader = try Self.located(in: window) {
            try XMLReader(rules, line: window.line) { try window.read(into: $0) }
        }
    }

    /// Moves to the next node of interest, past nodes of white space alone unless they are kept.
    func advance(keepingBlanks: Bool = false) throws -> Node {
        try Self.located(in: window) { try reader.advance(keepingBlanks: keepingBlanks) }
    }

    /// The element that the reader stands on.
    var element: PlistElement { reader.element.map { PlistElement.allCases[$0] } ?? .unknown }

    /// The element as a message shows it.
    var shownElement: String { "<\(reader.name.sanitizedForTerminal)>" }

    /// The manifest's name.
    var source: String { window.input.name }

    /// The number of bytes that were read for libxml2.
    var offset: Int { window.offset }

    /// Whether the element has no end tag, as in `<string/>`.
    var isEmpty: Bool { reader.isEmpty }

    /// The number of elements around the node.
    var depth: Int { reader.depth }

    /// The text that the reader stands on. A text that is longer than an entry may be is cut
    /// somewhere beyond that.
    var text: String { reader.text }

    /// The line of the node that the reader stands on.
    var line: Int { reader.line }

    /// Whether a text has something that is no character in the document's encoding or in XML.
    func isInvalid(_ text: String) -> Bool {
        (window.input.hasInvalidText || reader.hasForbiddenReference)
            && text.utf8.contains(TextDecoder.invalid)
    }

    /// An error at the node that the reader stands on.
    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        ManifestError(code, source: source, at: .line(line), reason)
    }

    private static func located<Value>(
        in window: ByteWindow, _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch let error as XMLError {
            throw ManifestError(error, source: window.input.name)
        }
    }
}

extension ManifestError {
    fileprivate init(_ error: XMLError, source: String) {
        let reason = error.reason.sanitizedForTerminal
        let (code, words): (Code, String) =
            switch error.code {
            case .malformed: (.malformed, reason)
            case .declarations: (.entityDeclared, reason)
            case .tooLarge: (.tooLarge, reason)
            case .tooDeep: (.tooDeep, reason)
            case .otherRoot(let name):
                (
                    .notAManifest,
                    "the document is a <\(name.sanitizedForTerminal)>, not a property list"
                )
            case .otherElement(let name):
                (
                    .malformed,
                    "<\(name.sanitizedForTerminal)> is not an element of property lists"
                )
            }
        self.init(code, source: source, at: error.line.map { .line($0) }, words)
    }
}

/// The elements of an XML property list. The root is the first one.
enum PlistElement: String {
    case plist
    case dict
    case key
    case string
    case array
    case integer
    case real
    case `true`
    case `false`
    case data
    case date
    case unknown = ""

    /// All elements, in the order of their names in ``names``.
    static let allCases: [PlistElement] = [
        .plist, .dict, .key, .string, .array, .integer, .real, .true, .false, .data, .date,
    ]
    static let names = allCases.map(\.rawValue)
}
