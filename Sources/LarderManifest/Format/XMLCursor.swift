import LarderCore
import LarderXML

/// A cursor over the elements of an XML catalogue.
/// The document becomes a dictionary whose only member is the root element. An element with only
/// text becomes a string, and any other element a dictionary: its attributes become members whose
/// names start with `@`, and its text, if it has no child elements, becomes the member
/// ``ManifestPath/elementText``. Other text is ignored.
final class XMLCursor: ManifestCursor {
    private enum Place {
        case document
        case element
        /// Inside the value (an element without attributes), at its first child.
        case child
        /// After the value, which is an attribute or an element with only text.
        case value(Result<ManifestValue, EntryError>)
    }

    private(set) var line: Int?
    private let xml: ManifestXML
    private let limits: ManifestLimits
    private var place = Place.document
    private var reader: XMLReader { xml.reader }

    init(_ xml: ManifestXML, limits: ManifestLimits) {
        self.xml = xml
        self.limits = limits
        line = reader.line
    }

    var progress: Int { xml.progress }

    /// Reads to the end of the document, because errors may follow the root element.
    func finish() throws { while try xml.advance() != .finished {} }

    func kind() throws -> ValueKind {
        switch place {
        case .document, .child: return .dictionary
        case .value: return .scalar
        case .element:
            guard reader.attributes.isEmpty, !reader.isEmpty else { return .dictionary }
            guard let text = try leadingText() else {
                place = .child
                return .dictionary
            }
            place = .value(text)
            return .scalar
        }
    }

    func take() throws -> Result<ManifestValue, EntryError> {
        let depth = openDepth
        var size = 0
        let result = try EntryError.result { try value(depth: 1, size: &size) }
        if case .failure = result, let depth { try xml.skip(to: depth) }
        return result
    }

    @discardableResult func skip() throws -> EntryError? {
        if let openDepth { try xml.skip(to: openDepth) }
        return nil
    }

    /// The depth of the value's element, or nil if its end was already read.
    private var openDepth: Int? {
        switch place {
        case .value: nil
        case .document, .element: reader.isEmpty ? nil : reader.depth
        case .child: reader.depth - 1
        }
    }

    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws {
        switch place {
        case .document: return try enter(body)
        case .value: return
        case .child: break
        case .element:
            for attribute in reader.attributes {
                place = .value(.success(xml.string(attribute.value, at: attribute.place)))
                try body(.success("@\(attribute.name)"))
            }
            if reader.isEmpty { return }
            if let text = try leadingText() {
                place = .value(text)
                return try body(.success(ManifestPath.elementText))
            }
        }
        repeat { try enter(body) } while try nextChild()
    }

    func forEachElement(_ body: () throws -> Void) throws { try skip() }

    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        xml.error(code, reason)
    }

    private func enter(_ body: (Result<String, EntryError>) throws -> Void) throws {
        place = .element
        line = reader.line
        try body(.success(reader.name))
    }

    /// Returns an element's text, or nil at its first child element.
    private func leadingText() throws -> Result<ManifestValue, EntryError>? {
        var text = ""
        while true {
            switch try xml.advance(keepingBlanks: true) {
            case .start: return nil
            case .text: text += reader.text
            case .end, .finished:
                guard text.utf8.count <= limits.maximumEntrySize
                else { return .failure(.tooLarge(limits)) }
                return .success(xml.string(text, at: reader.content))
            }
        }
    }

    private func nextChild() throws -> Bool {
        var node = try xml.advance()
        while node == .text { node = try xml.advance() }
        return node == .start
    }

    private func value(depth: Int, size: inout Int) throws -> ManifestValue {
        // Charges for an element's tags. Attributes and ``ManifestPath/elementText`` have none.
        if case .value = place {} else { try limits.charge(8, to: &size) }
        _ = try kind()
        if case .value(let result) = place {
            let value = try result.get()
            if case .string(let text, _) = value { try limits.charge(text.utf8.count, to: &size) }
            return value
        }
        var members: [ManifestValue.Member] = []
        try forEachMember { key in
            let key = try key.get()
            try limits.enter(depth)
            try limits.charge(key.utf8.count, to: &size)
            members.append(.init(key: key, value: try value(depth: depth + 1, size: &size)))
        }
        return .dictionary(members)
    }
}
