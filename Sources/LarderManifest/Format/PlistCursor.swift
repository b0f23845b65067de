import LarderCore
import LarderXML

final class PlistCursor: ManifestCursor {
    enum Element: String, CaseIterable {
        case plist, dict, key, string, array, integer, real, `true`, `false`, data, date
    }

    private let xml: ManifestXML
    private let limits: ManifestLimits
    private var reader: XMLReader { xml.reader }

    init(_ xml: ManifestXML, limits: ManifestLimits) {
        self.xml = xml
        self.limits = limits
    }

    func begin() throws -> Bool { try !reader.isEmpty && nextChild() }

    func finish() throws {
        guard try !nextChild()
        else { throw error(.malformed, "the property list has more than one value") }
        while try xml.advance() != .finished {}
    }

    var line: Int? { reader.line }
    var progress: Int { xml.progress }
    var shownElement: String { "<\(reader.name.sanitizedForTerminal)>" }
    private var element: Element? { reader.element.map { Element.allCases[$0] } }

    func kind() -> ValueKind {
        switch element {
        case .dict: .dictionary
        case .array: .array
        default: .scalar
        }
    }

    func take() throws -> Result<ManifestValue, EntryError> {
        let depth = reader.depth
        var size = 0
        let result = try EntryError.result { try value(depth: 1, size: &size) }
        if case .failure = result { try xml.skip(to: depth) }
        return result
    }

    @discardableResult func skip() throws -> EntryError? {
        if !reader.isEmpty { try xml.skip(to: reader.depth) }
        return nil
    }

    func skip(inspectingWith body: (PlistCursor) throws -> Void) throws {
        guard !reader.isEmpty else { return }
        let depth = reader.depth
        do {
            try body(self)
        } catch is ManifestError {
            // A skipped value must be well-formed, but may have invalid elements.
            try xml.skip(to: depth)
        }
    }

    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws {
        try forEachElement {
            var size = 0
            let key = try EntryError.result { try self.key(size: &size) }
            if case .failure = key {
                throw error(.tooLarge, "a key has more than \(limits.maximumEntrySize) bytes")
            }
            try body(key)
        }
    }

    func forEachElement(_ body: () throws -> Void) throws {
        guard !reader.isEmpty else { return }
        while try nextChild() { try body() }
    }

    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        xml.error(code, reason)
    }

    private func nextChild() throws -> Bool {
        switch try xml.advance() {
        case .start: return true
        case .end: return false
        case .text: throw error(.malformed, "expected an element, found text")
        case .finished: throw error(.malformed, "unexpected end of document")
        }
    }

    private func value(depth: Int, size: inout Int) throws -> ManifestValue {
        try limits.charge(8, to: &size)
        switch element {
        case .string: return xml.string(try text(&size), at: reader.content)
        case .dict:
            try limits.enter(depth)
            var members: [ManifestValue.Member] = []
            try forEachElement {
                let key = try key(size: &size)
                members.append(.init(key: key, value: try value(depth: depth + 1, size: &size)))
            }
            return .dictionary(members)
        case .array:
            try limits.enter(depth)
            var elements: [ManifestValue] = []
            try forEachElement { elements.append(try value(depth: depth + 1, size: &size)) }
            return .array(elements)
        case .integer: return integer(try text(&size))
        case .real:
            let number = Double(try text(&size).filter { !$0.isWhitespace })
            return number.map { .double($0) } ?? .opaque("a malformed number")
        case .true, .false:
            let value = ManifestValue.bool(element == .true)
            let isBlank = try text(&size).allSatisfy(\.isWhitespace)
            return isBlank ? value : .opaque("a malformed boolean")
        case .data, .date:
            let kind = element == .data ? "data" : "a date"
            _ = try text(&size)
            return .opaque(kind)
        case .key: throw error(.malformed, "expected a value, found <key>")
        case .plist, nil: throw error(.malformed, "\(shownElement) is not a property list element")
        }
    }

    private func key(size: inout Int) throws -> String {
        guard element == .key
        else { throw error(.malformed, "expected a <key>, found \(shownElement)") }
        let key = try text(&size)
        guard try nextChild()
        else { throw error(.malformed, "the key \(key.quoted()) has no value") }
        return key
    }

    private func text(_ size: inout Int) throws -> String {
        guard !reader.isEmpty else { return "" }
        var text = ""
        while case let node = try xml.advance(keepingBlanks: true), node != .end {
            guard node == .text
            else { throw error(.malformed, "expected text, found \(shownElement)") }
            let part = reader.text
            try limits.charge(part.utf8.count, to: &size)
            text += part
        }
        return text
    }

    /// Accepts hexadecimal integers, as in Core Foundation.
    private func integer(_ text: String) -> ManifestValue {
        let digits = text.filter { !$0.isWhitespace }
        let isHex = digits.utf8.prefix(2).isWord("0x")
        if let integer = isHex ? Int(digits.dropFirst(2), radix: 16) : Int(digits) {
            return .integer(integer)
        }
        return UInt64(digits).map { .double(Double($0)) } ?? .opaque("a malformed integer")
    }
}
