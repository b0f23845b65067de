import LarderCore

/// Where the icons of a manifest of no known shape may be, as options that find them there.
public struct ManifestSuggestion: Equatable, Sendable {
    /// Where the entries are; nil if the manifest's own form tells.
    public let entries: ManifestPath?
    /// Where an entry's icon is.
    public let icon: ManifestPath
    /// Where its name is; nil if nothing looks like one.
    public let name: ManifestPath?
    /// How many entries have an icon there.
    public let count: Int
    /// Whether there may be more: only ``mostEntries``, or the beginning of a manifest, were read.
    public let isPart: Bool
    /// Whether these are relative, and need a base URL.
    public let isRelative: Bool

    /// The maximum number of entries to look at, with an icon or without.
    public static let mostEntries = 100_000
    static let advice = "name the places of its entries (--entries) and icons (--icon-key)"

    /// The options, as a shell takes them.
    public var options: String {
        let options = [("--entries", entries), ("--icon-key", icon), ("--name-key", name)]
        return options.compactMap { option, path in
            path.map { "\(option) \($0.textForShell.shellQuoted)" }
        }.joined(separator: " ")
    }

    /// A part of a sentence; safe to print.
    var words: String {
        (isPart ? "at least " : "")
            + count.of("entry looks like an icon", "entries look like icons")
            + " at \(options)\(remark)"
    }

    static func words(_ suggestions: [ManifestSuggestion]) -> String? {
        guard let best = suggestions.first else { return nil }
        return
            ([best.words]
            + suggestions.dropFirst().map { "\($0.count) at \($0.options)\($0.remark)" })
            .joined(separator: "; ")
    }

    /// Whether it leads to the icons that entries have at one of some paths.
    func isAny(of icons: [ManifestPath]) -> Bool {
        let entries = entries?.segments ?? []
        let whole = [entries + icon.segments, entries + [.elements] + icon.segments]
        return icons.contains { path in
            whole.contains { $0.suffix(path.segments.count).elementsEqual(path.segments) }
        }
    }

    private var remark: String { isRelative ? " (relative: add --base-url)" : "" }
}

extension ManifestPath {
    /// With the marks that need no quoting between a shell's single ones.
    fileprivate var textForShell: String { text(quotedBy: "\"") }

    /// The path; nil if its text cannot be printed, pasted and read again as the same.
    static func pasteable(_ segments: [Segment]) -> ManifestPath? {
        let path = ManifestPath(segments: segments)
        let text = path.textForShell
        guard text.utf8.count <= 200, text.sanitizedForTerminal.isSame(as: text),
            (try? ManifestPath(text)) == path
        else { return nil }
        return path
    }
}

extension ManifestError {
    func suggesting(_ suggestions: [ManifestSuggestion]) -> ManifestError {
        guard let words = ManifestSuggestion.words(suggestions) else { return self }
        let advice = ": \(ManifestSuggestion.advice)"
        let isAdvice = reason.utf8.suffix(advice.utf8.count).elementsEqual(advice.utf8)
        let reason = isAdvice ? String(Substring(reason.utf8.dropLast(advice.utf8.count))) : reason
        return ManifestError(
            code, source: source, at: place, "\(reason); \(words)", errorNumber: errorNumber)
    }
}
