/// One option, flag or positional argument, as the argument parser describes it.
struct ArgumentInfo: Decodable {
    enum Kind: String, Decodable { case positional, option, flag }

    struct Name: Decodable {
        let kind: String
        let name: String

        var isShort: Bool { kind == "short" }
        /// As it is typed.
        var text: String { (kind == "long" ? "--" : "-") + name }
    }

    let kind: Kind
    var names: [Name]?
    var valueName: String?
    var abstract: String?
    var sectionTitle: String?
    var defaultValue: String?
    /// All values that it takes, if they can be listed.
    var allValues: [String]?
    var isRepeating = false

    /// Its names as they are typed, the short one first: `-q`, `--quiet`. None if it is positional.
    var spellings: [String] {
        let names = names ?? []
        return (names.filter(\.isShort) + names.filter { !$0.isShort }).map(\.text)
    }

    /// The value that it takes, such as `<dir>`; nil if it takes none.
    var value: String? { kind == .flag ? nil : "<\(valueName ?? "value")>" }

    /// How it is written, such as `-q, --quiet`, `--cache <dir>` or `<manifest> ...`.
    var label: String {
        if kind == .positional { return (value ?? "") + (isRepeating ? " ..." : "") }
        return ([spellings.joined(separator: ", ")] + [value].compactMap(\.self))
            .joined(separator: " ")
    }

    /// What it does, with its values and its default, which some descriptions end with.
    var explanation: String {
        var text = abstract ?? ""
        var notes: [String] = []
        if let allValues, !allValues.isEmpty {
            notes.append("values: " + allValues.joined(separator: ", "))
        }
        if let own = text.firstMatch(of: /\ *\((default: .*)\)$/) {
            notes.append(String(own.output.1))
            text.removeSubrange(own.range)
        } else if let defaultValue, !defaultValue.isEmpty {
            notes.append("default: \(defaultValue)")
        }
        return notes.isEmpty ? text : text + " (\(notes.joined(separator: "; ")))"
    }

    /// The first sentence of what it does.
    var summary: String {
        let text = abstract ?? ""
        return text.firstRange(of: ". ").map { String(text[..<$0.lowerBound]) + "." } ?? text
    }
}

extension ArgumentInfo {
    /// An option of the whole program, which the argument parser does not describe.
    static func long(_ name: String, _ value: String? = nil, _ abstract: String) -> ArgumentInfo {
        ArgumentInfo(
            kind: value == nil ? .flag : .option, names: [Name(kind: "long", name: name)],
            valueName: value, abstract: abstract)
    }

    static let help = ArgumentInfo(
        kind: .flag, names: [Name(kind: "short", name: "h"), Name(kind: "long", name: "help")],
        abstract: "Show help.")
    static let helpAll = long("help-all", nil, "Show help with all options.")
}
