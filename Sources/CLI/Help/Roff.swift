/// Text in the language of manual pages, man(7).
enum Roff {
    /// A text on lines of its own, each shown as it is.
    static func text(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in
                let line = escaped(String(line))
                // A line that begins so would be a request.
                return line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
            }
            .joined(separator: "\n")
    }

    /// Paragraphs, which empty lines divide. Lines within one stay lines.
    static func paragraphs(_ text: String) -> String {
        text.split(separator: "\n\n").map { paragraph in
            let lines = paragraph.split(separator: "\n").map { Roff.text(String($0)) }
            return lines.joined(separator: "\n.br\n") + "\n"
        }.joined(separator: ".PP\n")
    }

    static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }
    static func italic(_ text: String) -> String { "\\fI\(escaped(text))\\fR" }

    /// A term, already marked up, and what it means.
    static func item(_ term: String, _ meaning: String) -> String {
        ".TP\n\(term)\n\(text(meaning))\n"
    }

    /// Hyphens become those that can be copied into a shell, and quotes stay straight.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case "`": result += "\\(ga"
            case "…": result += "\\&..."
            default: result.append(character)
            }
        }
        return result
    }
}
