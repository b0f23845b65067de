// all text: paths come from the user or from the table of shapes

/// A path to values in a manifest of any format, in a subset of JSONPath (RFC 9535), such as
/// `assets[?@.kind=='x'].url`, or of XPath, such as `icon[@type='remote']/@href`.
///
/// A leading `$` or `@` is optional. Paths to entries start at the manifest's root, other paths at
/// an entry, `@`. Unlike in the RFC, `[*]` selects only elements of arrays, and `.*` only members
/// of dictionaries. In XML, a member's name selects every child element of that name.
public struct ManifestPath: Equatable, Sendable {
    enum Segment: Hashable, Sendable {
        case member(String)
        case elements, members
        /// The value and its descendants. Allowed once, not last, so that no value is read twice.
        case descendants
        /// The elements whose member has this value. In XML, the member is an attribute (`@name`).
        case elementsWhere(String, String)

        static func == (left: Segment, right: Segment) -> Bool {
            switch (left, right) {
            case (.member(let left), .member(let right)): left.isSame(as: right)
            case (.elements, .elements), (.members, .members), (.descendants, .descendants): true
            case (.elementsWhere(let left, let value), .elementsWhere(let right, let other)):
                left.isSame(as: right) && value.isSame(as: other)
            default: false
            }
        }

        func hash(into hasher: inout Hasher) {
            switch self {
            case .elements, .members, .descendants: break
            case .member(let name), .elementsWhere(let name, _):
                for byte in name.utf8 { hasher.combine(byte) }
            }
        }
    }

    /// An error in the syntax of a path.
    public struct SyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
        /// The reason in words. Safe to print.
        public let description: String

        init(_ description: String) { self.description = description }
    }

    enum Notation: Sendable { case json, element, document }

    static let elementText = "#text"

    let segments: [Segment]
    let notation: Notation

    init(segments: [Segment], notation: Notation = .json) {
        self.segments = segments
        self.notation = notation
    }

    var isXML: Bool { notation != .json }

    func written(as notation: Notation) -> ManifestPath {
        ManifestPath(segments: segments, notation: notation)
    }

    /// Whether the paths are equal, ignoring their notations.
    public static func == (left: ManifestPath, right: ManifestPath) -> Bool {
        left.segments == right.segments
    }

    /// Whether a filter precedes the last segment. Such a path is not supported, because elements
    /// are read one by one.
    public var isFilter: Bool {
        segments.dropLast().contains { if case .elementsWhere = $0 { true } else { false } }
    }

    var hasDescendants: Bool { segments.contains(.descendants) }

    /// Parses a path in JSONPath or XPath.
    public init(_ text: String) throws(SyntaxError) {
        // As bytes, because the shapes have 400 paths, and a short run parses them all.
        var rest = Array(text.utf8)[...]
        let isXML = Self.isXPath(rest)
        let separator = UInt8(ascii: isXML ? "/" : ".")
        let isRooted = rest.first.map((isXML ? "/" : "$@").utf8.contains) ?? false
        let isAnywhere = isXML && rest.starts(with: "//".utf8)
        if isRooted && !isAnywhere || isXML && rest.starts(with: ".//".utf8) { rest.removeFirst() }
        var segments: [Segment] = []
        while let first = rest.first {
            let isAfterDescendants = segments.last.map { $0 == .descendants } ?? false
            if first == separator, rest.dropFirst().first == separator, !isAfterDescendants {
                guard !segments.contains(.descendants) else {
                    let separators = isXML ? "//" : ".."
                    throw SyntaxError("'\(separators)' can occur only once")
                }
                rest.removeFirst(2)
                segments.append(.descendants)
                continue
            }
            if first == UInt8(ascii: "["), !isXML || !isAfterDescendants {
                segments.append(try Self.bracket(&rest, isXML: isXML))
                continue
            }
            let isFirst = segments.isEmpty && (isXML || !isRooted) || isAfterDescendants
            guard (first == separator) != isFirst else {
                let wanted = isFirst ? "a name" : isXML ? "'/' or '['" : "'.' or '['"
                throw SyntaxError("expected \(wanted) before \(Self.quoted(rest))")
            }
            if !isFirst { rest.removeFirst() }
            let name = rest.prefix { $0 != separator && $0 != UInt8(ascii: "[") }
            guard !name.allSatisfy({ $0 == UInt8(ascii: ".") }), !name.elementsEqual("@".utf8),
                !name.contains(where: "]'\"?()".utf8.contains)
            else { throw SyntaxError("expected a name before \(Self.quoted(rest))") }
            rest = rest[name.endIndex...]
            let isWildcard = name.count == 1 && name.first == UInt8(ascii: "*")
            segments.append(
                isWildcard ? .members : .member(String(decoding: name, as: UTF8.self)))
        }
        guard !segments.isEmpty || isRooted && !isXML else { throw .init("the path is empty") }
        guard segments.last != .descendants else {
            throw SyntaxError("expected a name after '\(isXML ? "//" : "..")'")
        }
        let notation: Notation = isXML ? isRooted ? .document : .element : .json
        self.init(segments: segments, notation: notation)
    }

    private static func quoted(_ rest: ArraySlice<UInt8>) -> String {
        String(decoding: rest, as: UTF8.self).quoted()
    }

    /// Whether the path selects attributes or has slashes outside brackets, as only in XPath.
    private static func isXPath(_ text: ArraySlice<UInt8>) -> Bool {
        let start = text.prefix { $0 != UInt8(ascii: "[") }
        let isAttribute =
            start.first == UInt8(ascii: "@") && start.dropFirst().first != nil
            && start.dropFirst().first != UInt8(ascii: ".")
        return isAttribute || start.contains(UInt8(ascii: "/")) || text.holds("[@")
    }

    private static func bracket(
        _ rest: inout ArraySlice<UInt8>, isXML: Bool
    ) throws(SyntaxError) -> Segment {
        let whole = rest
        rest.removeFirst()
        let (opening, equals, ends) = isXML ? ("@", "=", "=]! ") : ("?@.", "==", "=]")
        let segment: Segment
        if !isXML, rest.first == UInt8(ascii: "*") {
            rest.removeFirst()
            segment = .elements
        } else if !isXML, let name = value(&rest) {
            segment = .member(name)
        } else if rest.starts(with: opening.utf8), case _ = rest.removeFirst(opening.utf8.count),
            case let name = rest.prefix(while: { !ends.utf8.contains($0) }), !name.isEmpty,
            rest[name.endIndex...].starts(with: equals.utf8),
            case _ = rest.removeFirst(name.count + equals.utf8.count), let value = value(&rest)
        {
            segment = .elementsWhere(
                (isXML ? "@" : "") + String(decoding: name, as: UTF8.self), value)
        } else {
            let wanted = isXML ? "[@name='value']" : "[*], ['name'] or [?@.name=='value']"
            throw SyntaxError("expected \(wanted) at \(quoted(whole))")
        }
        guard rest.first == UInt8(ascii: "]") else {
            throw .init("missing ']' in \(quoted(whole))")
        }
        rest.removeFirst()
        return segment
    }

    /// Removes a string in quotation marks, in which a backslash precedes any character.
    private static func value(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard let mark = rest.first, mark == UInt8(ascii: "'") || mark == UInt8(ascii: "\"")
        else { return nil }
        var value: [UInt8] = []
        var tail = rest.dropFirst()
        while var byte = tail.popFirst() {
            if byte == mark {
                rest = tail
                return String(decoding: value, as: UTF8.self)
            }
            if byte == UInt8(ascii: "\\") {
                guard let next = tail.popFirst() else { return nil }
                byte = next
            }
            value.append(byte)
        }
        return nil
    }
}

extension ManifestPath: CustomStringConvertible, ExpressibleByStringLiteral {
    /// The path without a leading `$`. A path without segments is `@`.
    public var description: String { text(quotedBy: "'") }

    func text(quotedBy mark: String) -> String {
        var text = ""
        var isAfterDescendants = false
        for segment in segments {
            let isFirst = text.isEmpty || isAfterDescendants
            let link = isFirst ? "" : isXML ? "/" : "."
            isAfterDescendants = segment == .descendants
            switch segment {
            case .descendants where isXML && text.isEmpty:
                text = notation == .document ? "/" : ".//"
            case .descendants: text += isXML ? "//" : ".."
            case .member(let name) where isXML || name.isPlainWord: text += link + name
            case .member(let name): text += "[\(mark)\(name.escaping(mark))\(mark)]"
            case .elements: text += isXML ? "" : "[*]"
            case .members: text += link + "*"
            case .elementsWhere(let name, let value):
                text += isXML ? "[\(name)=" : "[?@.\(name)=="
                text += "\(mark)\(value.escaping(mark))\(mark)]"
            }
        }
        return notation == .document ? "/" + text : text.isEmpty ? "@" : text
    }

    /// Creates a path from a literal, which must be well-formed.
    public init(stringLiteral text: String) {
        do { try self.init(text) } catch { preconditionFailure("\(text): \(error)") }
    }
}

extension String {
    fileprivate var isPlainWord: Bool {
        !isEmpty && allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }

    fileprivate func escaping(_ mark: String) -> String {
        replacing("\\", with: "\\\\").replacing(mark, with: "\\" + mark)
    }
}

struct PathMatch {
    var value: ManifestValue
    var container: [ManifestValue.Member] = []
    var key = ""
    var wildcard: String?

    fileprivate func with(
        _ value: ManifestValue, in container: [ManifestValue.Member]? = nil, key: String? = nil,
        wildcard: String? = nil
    ) -> PathMatch {
        PathMatch(
            value: value, container: container ?? self.container, key: key ?? self.key,
            wildcard: wildcard ?? self.wildcard)
    }

    /// Does not collect the values, because a hostile array can have half a million elements.
    fileprivate func forEachInner(
        _ segment: ManifestPath.Segment, isXML: Bool, _ body: (PathMatch) -> Void
    ) {
        switch (segment, value) {
        case (.elements, .array(let elements)), (.descendants, .array(let elements)):
            for element in elements { body(with(element)) }
        case (.elementsWhere(let key, let wanted), .array(let elements)):
            for element in elements where element.has(key, wanted) { body(with(element)) }
        case (.elementsWhere(let key, let wanted), .dictionary) where isXML:
            if value.has(key, wanted) { body(self) }
        case (.members, .dictionary(let members)):
            for member in members {
                body(with(member.value, in: members, key: member.key, wildcard: member.key))
            }
        case (.descendants, .dictionary(let members)):
            for member in members { body(with(member.value, in: members, key: member.key)) }
        case (.member(let key), .dictionary(let members)) where isXML:
            // In XML, several elements can have the same name.
            for member in members where member.key.isSame(as: key) {
                body(with(member.value, in: members, key: member.key))
            }
        case (.member(let key), .dictionary(let members)):
            if let value = members[key] { body(with(value, in: members, key: key)) }
        default: break
        }
    }
}

extension ManifestPath {
    func matches(in value: ManifestValue, limit: Int) -> [PathMatch] {
        // The most common case, for speed.
        if segments.count == 1, !isXML, case .member(let key) = segments[0],
            case .dictionary(let members) = value
        {
            return members[key].map { [PathMatch(value: $0, container: members, key: key)] } ?? []
        }
        var found: [PathMatch] = []
        collect(segments[...], PathMatch(value: value), limit, &found)
        return found
    }

    func first(in value: ManifestValue) -> ManifestValue? {
        if segments.count == 1, !isXML, case .member(let key) = segments[0],
            case .dictionary(let members) = value
        {
            guard let found = members[key], !found.isBlank else { return nil }
            return found
        }
        return matches(in: value, limit: ManifestLimits.maximumIcons).first { !$0.value.isBlank }?
            .value
    }

    private func collect(
        _ rest: ArraySlice<Segment>, _ match: PathMatch, _ limit: Int, _ found: inout [PathMatch]
    ) {
        guard found.count < limit else { return }
        guard let segment = rest.first else {
            guard isXML, case .dictionary(let members) = match.value
            else { return found.append(match) }
            // A path to an XML element selects the element's text.
            if let text = members[Self.elementText] { found.append(match.with(text, in: members)) }
            return
        }
        if segment == .descendants { collect(rest.dropFirst(), match, limit, &found) }
        let next = segment == .descendants ? rest : rest.dropFirst()
        match.forEachInner(segment, isXML: isXML) { collect(next, $0, limit, &found) }
    }
}

extension ManifestValue {
    func has(_ key: String, _ value: String) -> Bool {
        guard case .dictionary(let members) = self, case .string(let text, _)? = members[key]
        else { return false }
        return text.isSame(as: value)
    }
}

extension [ManifestValue.Member] {
    subscript(key: String) -> ManifestValue? {
        lastIndex { $0.key.isSame(as: key) }.map { self[$0].value }
    }
}
