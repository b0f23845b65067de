import LarderCore

/// Options that find icons in a manifest of unknown shape.
package struct ManifestSuggestion: Equatable, Sendable {
    /// The path for `--entries`, or nil if it is not needed.
    let entries: ManifestPath?
    let icon: ManifestPath
    let name: ManifestPath?
    /// The number of entries with an icon at ``icon``.
    package let count: Int
    /// Whether ``count`` covers only the first part of the manifest, or ``mostEntries`` entries.
    let isPart: Bool
    /// Whether most URLs need a base URL.
    let isRelative: Bool

    /// The maximum number of entries to examine.
    static let mostEntries = 100_000
    static let advice =
        "use --entries and --icon-key to say where the icons are,"
        + " or --icon-template to build their URLs"

    package var options: String {
        let options = [("--entries", entries), ("--icon-key", icon), ("--name-key", name)]
        return options.compactMap { option, path in
            path.map { String.shellOption(option, $0.text(quotedBy: "\"")) }
        }.joined(separator: " ")
    }

    /// Returns a clause for messages. Safe to print.
    static func words(_ suggestions: [ManifestSuggestion]) -> String? {
        guard let best = suggestions.first else { return nil }
        let first = (best.isPart ? "at least " : "") + best.count.of("icon") + " found"
        let others = suggestions.dropFirst().map { "; \($0.count) with \($0.options)\($0.remark)" }
        return "\(first) with \(best.options)\(best.remark)" + others.joined()
    }

    func isAny(of icons: [ManifestPath]) -> Bool {
        let entries = entries?.segments ?? []
        let whole = [entries + icon.segments, entries + [.elements] + icon.segments]
        return icons.contains { path in
            whole.contains {
                path.covers($0.suffix(path.hasDescendants ? $0.count : path.segments.count))
            }
        }
    }

    private var remark: String { isRelative ? " (relative URLs, add --base-url)" : "" }
}

extension ManifestPath {
    /// Returns a path, or nil if its text cannot be printed and pasted unchanged.
    static func pasteable(_ segments: [Segment], _ notation: Notation) -> ManifestPath? {
        let path = ManifestPath(segments: segments, notation: notation)
        // In a shell, single quotation marks may enclose double ones.
        let text = path.text(quotedBy: "\"")
        guard text.utf8.count <= 200, text.sanitizedForTerminal.isSame(as: text),
            (try? ManifestPath(text)) == path
        else { return nil }
        return path
    }
}

extension ManifestError {
    func suggesting(_ suggestions: [ManifestSuggestion]) -> ManifestError {
        guard let words = ManifestSuggestion.words(suggestions) else { return self }
        let advice = "; \(ManifestSuggestion.advice)"
        let isAdvice = reason.utf8.suffix(advice.utf8.count).elementsEqual(advice.utf8)
        let reason = isAdvice ? String(Substring(reason.utf8.dropLast(advice.utf8.count))) : reason
        return ManifestError(
            code, source: source, at: place, "\(reason); \(words)", errorNumber: errorNumber)
    }
}
