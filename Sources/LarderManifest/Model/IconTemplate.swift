import LarderCore

/// A template of icon URLs that contains members of the entry, such as
/// `https://icons.example/{id}/icon.png`.
///
/// Braces contain a path in the entry, except that `{size}`, `{width}`, `{height}`, `{w}` and `{h}`
/// mean ``ManifestRules/iconSize``. For a member named `size`, write `{@.size}`.
public struct IconTemplate: Equatable, Sendable {
    static let sizes = ["size", "width", "height", "w", "h"]

    /// The template as written.
    public let text: String
    private(set) var members: [ManifestPath] = []
    private var texts: [String] = []
    private let end: String

    /// Parses a template, which must contain at least one path.
    public init(_ text: String) throws(ManifestPath.SyntaxError) {
        self.text = text
        var before = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "{") {  // text: from the user
            guard let close = rest[open...].firstIndex(of: "}") else {  // text: from the user
                throw .init("missing '}' in \(text.quoted())")
            }
            let name = String(rest[rest.index(after: open)..<close])
            before += rest[..<open]
            rest = rest[rest.index(after: close)...]
            if Self.sizes.contains(where: name.isSame) {
                before += "{\(name)}"
            } else {
                members.append(try ManifestPath(name))
                texts.append(before)
                before = ""
            }
        }
        guard !members.isEmpty else { throw .init("expected a member in braces, such as {id}") }
        end = before + rest
    }

    var inXML: IconTemplate {
        var template = self
        template.members = members.map { $0.written(as: .element) }
        return template
    }

    /// Returns the URL for an entry. Values are percent-encoded, so each stays in one path segment.
    func filled(from entry: ManifestValue) throws(EntryError) -> String {
        var url = ""
        for (before, path) in zip(texts, members) {
            let value: String
            switch path.first(in: entry) {
            case .string(let text, _)?: value = text
            case .integer(let number)?: value = String(number)
            case nil: throw Self.error(path, "is missing")
            case let other?: throw Self.error(path, "is \(other.kind), not a string")
            }
            // A segment of dots would lead to another directory, even if percent-encoded.
            guard value.utf8.contains(where: { $0 != UInt8(ascii: ".") })
            else { throw Self.error(path, "is \(value.quoted())") }
            url += before + value.utf8.percentEncoded(except: \.isUnreserved)
        }
        return url + end
    }

    private static func error(_ path: ManifestPath, _ problem: String) -> EntryError {
        EntryError(
            .unparsableURL,
            "the icon template needs \("\(path)".sanitizedForTerminal), which \(problem)")
    }
}

/// A set of icons, and a template for their URLs. The names `mdi:home`, `mdi-home`, `fas fa-house`
/// and `bi bi-house` refer to icons in the sets `mdi`, `fas` and `bi`.
public struct IconSet: Equatable, Sendable {
    private let name: String
    private let template: String

    /// Parses an icon set, such as `mdi=https://icons.example/{name}.svg`.
    public init(_ text: String) throws(ManifestPath.SyntaxError) {
        let parts = text.utf8.split(
            separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false
        ).map { String(Substring($0)) }
        guard let name = parts.first, !name.isEmpty, name.utf8.allSatisfy(\.isOfIconName)
        else { throw .init("expected the name of a set before '='") }
        guard parts.count == 2, parts[1].utf8.holds("{name}")
        else { throw .init("expected a URL with {name} after '\(name)='") }
        (self.name, template) = (name, parts[1])
        guard (try? HTTPURL(url(ofName: "x"))) != nil
        else { throw .init("\(template.maskingSecrets.quoted()) is not an http or https URL") }
    }

    func url(of value: String) -> String? {
        let words = value.utf8.split(separator: UInt8(ascii: " "))
        guard let first = words.first, words.count <= 8 else { return nil }
        func icon(in word: Substring.UTF8View, after prefix: String) -> Substring.UTF8View? {
            guard word.starts(with: prefix.utf8) else { return nil }
            var icon = word.dropFirst(prefix.utf8.count)
            // The name may end in a colour, as in `mdi-home-#f0d453`.
            if let colour = icon.firstIndex(of: UInt8(ascii: "#")) {
                icon = icon[..<colour]
                if icon.last == UInt8(ascii: "-") { icon.removeLast() }
            }
            return icon.isEmpty || !icon.allSatisfy(\.isOfIconName) ? nil : icon
        }
        if words.count == 1, let name = icon(in: first, after: name + ":") {
            return url(ofName: String(Substring(name)))
        }
        let others = words.filter { !$0.elementsEqual(name.utf8) }
        var names = others.compactMap { icon(in: $0, after: name + "-") }
        if others.count < words.count {
            names += others.compactMap { icon(in: $0, after: "fa-") }
        } else if names.count > 1 {
            // One of these names can be a style, as in `fa-solid fa-house`, so the icon is unknown.
            return nil
        }
        return names.first.map { url(ofName: String(Substring($0))) }
    }

    private func url(ofName name: String) -> String {
        template.replacing("{name}", with: name)  // text: ASCII
    }
}

extension UInt8 {
    fileprivate var isOfIconName: Bool { isASCIILetterOrDigit || "-_".utf8.contains(self) }
}
