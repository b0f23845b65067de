// all text: paths come from the user or from the table of shapes

/// The notation of paths in XML, a subset of XPath.
extension ManifestPath {
    /// Whether the text can only be XPath: it has a slash outside of brackets, or an attribute.
    static func isXPath(_ text: String) -> Bool {
        let start = text.prefix { $0 != "[" }
        if start.first == "@", let next = start.dropFirst().first, next != "." { return true }
        return start.contains("/") || text.contains("[@") || text.contains("[not(")
    }

    static func xpath(_ text: String) throws(SyntaxError) -> ManifestPath {
        var rest = text[...]
        let isRooted = rest.hasPrefix("/")
        if isRooted { rest.removeFirst() }
        var segments: [Segment] = []
        while true {
            let name = rest.prefix { $0 != "/" && $0 != "[" }
            let isName = !name.isEmpty && name != "@" && !name.contains { "]'\"()=".contains($0) }
            guard isName else {
                throw SyntaxError(
                    description: "expected the name of an element or @attribute before"
                        + " \(String(rest).quoted())")
            }
            segments.append(name == "*" ? .members : .member(String(name)))
            rest = rest[name.endIndex...]
            while rest.first == "[" { segments.append(try condition(&rest)) }
            guard let next = rest.first else { break }
            guard next == "/" else {
                throw SyntaxError(description: "expected '/' before \(String(rest).quoted())")
            }
            rest.removeFirst()
        }
        return ManifestPath(segments: segments, notation: isRooted ? .document : .element)
    }

    private static func condition(_ rest: inout Substring) throws(SyntaxError) -> Segment {
        let whole = rest
        let isNegative = rest.hasPrefix("[not(@")
        if isNegative || rest.hasPrefix("[@") {
            rest.removeFirst(isNegative ? 6 : 2)
            let name = rest.prefix { !"=])".contains($0) }
            rest = rest[name.endIndex...]
            var value: String?
            if !isNegative, rest.hasPrefix("=") {
                rest.removeFirst()
                value = quoted(&rest)
            }
            let end = isNegative ? ")]" : "]"
            if !name.isEmpty, isNegative || value != nil, rest.hasPrefix(end) {
                rest.removeFirst(end.count)
                return .attribute(String(name), value)
            }
        }
        throw SyntaxError(
            description: "expected [@name='value'] or [not(@name)] at \(String(whole).quoted())")
    }

    func xpath(quotedBy mark: String) -> String {
        var text = ""
        for segment in segments {
            switch segment {
            case .member(let name): text += text.isEmpty ? name : "/" + name
            case .members: text += text.isEmpty ? "*" : "/*"
            case .attribute(let name, let value?):
                text += "[@\(name)=\(mark)\(value.escaping(mark))\(mark)]"
            case .attribute(let name, nil): text += "[not(@\(name))]"
            case .elements, .elementsWhere: continue
            }
        }
        return notation == .document ? "/" + text : text.isEmpty ? "@" : text
    }
}
