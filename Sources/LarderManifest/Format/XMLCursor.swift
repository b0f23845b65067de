import LarderCore
import LarderXML

/// A cursor over the elements of an XML catalogue.
///
/// The document is a dictionary whose only member is the root element. An element with only text is
/// a string. Other elements are dictionaries: attributes are members with an `@`, and the text of
/// an element without child elements is the member ``text``. Text next to child elements is
/// ignored.
final class XMLCursor: ManifestCursor {
    private static let text = ManifestPath.elementText

    private enum Place {
        case document
        case element
        /// At the first child of the value, an element without attributes.
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
        do {
            switch place {
            case .value(let value): return value
            case .document: return .success(.dictionary([try member(depth: 1, size: &size)]))
            case .child: return .success(try content([], isAtChild: true, depth: 1, size: &size))
            case .element: return .success(try value(depth: 1, size: &size))
            }
        } catch let error as EntryError {
            if let depth { try xml.skip(to: depth) }
            return .failure(error)
        }
    }

    @discardableResult func skip() throws -> EntryError? {
        if let openDepth { try xml.skip(to: openDepth) }
        return nil
    }

    /// The depth of the element whose end is the end of the value. Nil if that end was already
    /// read.
    private var openDepth: Int? {
        switch place {
        case .value: nil
        case .document, .element: reader.isEmpty ? nil : reader.depth
        case .child: reader.depth - 1
        }
    }

    func skip(inspectingWith body: (XMLCursor) throws -> Void) throws { try body(self) }

    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws {
        var isAtChild = false
        switch place {
        case .document: return try enter(body)
        case .value: return
        case .child: isAtChild = true
        case .element:
            let isEmpty = reader.isEmpty
            for attribute in reader.attributes.map({ member($0) }) {
                place = .value(.success(attribute.value))
                try body(.success(attribute.key))
            }
            if isEmpty { return }
        }
        if !isAtChild, let text = try leadingText() {
            place = .value(text)
            return try body(.success(Self.text))
        }
        repeat { try enter(body) } while try nextChild()
    }

    func forEachElement(_ body: () throws -> Void) throws { _ = try skip() }

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
                guard text.utf8.count <= limits.maximumEntrySize else {
                    return .failure(.tooLarge(limits))
                }
                return .success(xml.string(text, at: reader.content))
            }
        }
    }

    private func nextChild() throws -> Bool {
        var node = try xml.advance()
        while node == .text { node = try xml.advance() }
        return node == .start
    }

    private func member(_ attribute: XMLAttribute) -> ManifestValue.Member {
        .init(key: "@\(attribute.name)", value: xml.string(attribute.value, at: attribute.place))
    }

    private func member(depth: Int, size: inout Int) throws -> ManifestValue.Member {
        let name = reader.name
        try limits.charge(name.utf8.count, to: &size)
        return .init(key: name, value: try value(depth: depth, size: &size))
    }

    private func value(depth: Int, size: inout Int) throws -> ManifestValue {
        try limits.charge(8, to: &size)
        var members: [ManifestValue.Member] = []
        for attribute in reader.attributes {
            try limits.charge(attribute.name.utf8.count + attribute.value.utf8.count, to: &size)
            members.append(member(attribute))
        }
        if !members.isEmpty { try limits.enter(depth) }
        if reader.isEmpty { return .dictionary(members) }
        return try content(members, isAtChild: false, depth: depth, size: &size)
    }

    private func content(
        _ members: [ManifestValue.Member], isAtChild: Bool, depth: Int, size: inout Int
    ) throws -> ManifestValue {
        var members = members
        var text: String? = ""
        var node = isAtChild ? XMLReader.Node.start : try xml.advance(keepingBlanks: true)
        while true {
            switch node {
            case .start:
                text = nil
                try limits.enter(depth)
                members.append(try member(depth: depth + 1, size: &size))
            case .text where text != nil:
                let part = reader.text
                try limits.charge(part.utf8.count, to: &size)
                text? += part
            case .text: break
            case .end, .finished:
                guard let text else { return .dictionary(members) }
                let string = xml.string(text, at: reader.content)
                if members.isEmpty { return string }
                return .dictionary(members + [.init(key: Self.text, value: string)])
            }
            node = try xml.advance(keepingBlanks: text != nil)
        }
    }
}
