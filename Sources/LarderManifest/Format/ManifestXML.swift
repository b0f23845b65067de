import LarderCore
import LarderImages
import LarderXML

final class ManifestXML {
    let source: String
    let reader: XMLReader
    private var node = XMLReader.Node.start
    private let decoder: TextDecoder

    init(_ window: ByteWindow, limits: ManifestLimits) throws {
        source = window.input.name
        let encoding = try XMLEncoding.of(window)
        if XMLEncoding.hasUTF16Mark(window.unread) { window.consume(2) }
        let decoder = TextDecoder(window, from: encoding)
        self.decoder = decoder
        var rules = XMLRules(maximumTextBytes: limits.maximumEntrySize)
        rules.elements = PlistCursor.Element.allCases.map(\.rawValue)
        rules.containers = ["plist", "array", "dict"]
        rules.permitsOtherRoots = true
        rules.permitsDocumentType = true
        rules.forbiddenReference = TextDecoder.invalid
        rules.maximumNames = 1_024
        let offsets = XMLOffsets(from: window.offset, unitSize: encoding.unitSize)
        reader = try Self.located(in: source) {
            try XMLReader(rules, line: window.line, offsets: offsets) { try decoder.read(into: $0) }
        }
    }

    var progress: Int { decoder.offset }

    /// Moves to the root element. Returns whether the document is a property list.
    func begin() throws -> Bool {
        guard try advance() == .start else { throw error(.malformed, "unexpected end of document") }
        guard !reader.name.utf8.isWord("html")
        else { throw error(.notAManifest, "the file is \(ContentGuess.page), not a manifest") }
        return reader.element != nil
    }

    @discardableResult func advance(keepingBlanks: Bool = false) throws -> XMLReader.Node {
        node = try Self.located(in: source) { try reader.advance(keepingBlanks: keepingBlanks) }
        return node
    }

    /// Moves to the end of the element at `depth`. Does nothing if the current node is that end.
    func skip(to depth: Int) throws {
        while node != .finished, node != .end || reader.depth != depth { try advance() }
    }

    func string(_ text: String, at place: Range<Int>?) -> ManifestValue {
        let mayBeInvalid = decoder.hasInvalid || reader.hasForbiddenReference
        guard !mayBeInvalid || !text.utf8.contains(TextDecoder.invalid) else { return .invalidText }
        return .string(text, at: place.map { SourceSpan($0) } ?? .unknown)
    }

    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        ManifestError(code, source: source, at: .line(reader.line), reason)
    }

    private static func located<Value>(
        in source: String, _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch let error as XMLError {
            let code: ManifestError.Code =
                switch error.code {
                case .malformed: .malformed
                case .declarations: .entityDeclared
                case .tooLarge: .tooLarge
                case .tooDeep: .tooDeep
                }
            throw ManifestError(
                code, source: source, at: error.line.map { .line($0) },
                error.reason.sanitizedForTerminal)
        }
    }
}
