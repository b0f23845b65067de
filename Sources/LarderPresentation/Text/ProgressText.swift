/// What a line of progress says: parts, of which those that matter least go where it is narrow.
package struct ProgressText: Sendable, Equatable {
    /// One figure.
    struct Part: Sendable, Equatable {
        /// From the longest form to the shortest.
        var forms: [String]
        /// The highest goes first.
        var rank: Int
    }

    private var parts: [Part] = []

    /// Adds a figure to the right of the others.
    ///
    /// - Parameters:
    ///   - forms: from the longest to the shortest.
    ///   - rank: how soon it is left out; the highest goes first.
    mutating func add(_ forms: String..., rank: Int) {
        parts.append(Part(forms: forms, rank: rank))
    }

    /// All of it.
    package var whole: String { parts.map { $0.forms[0] }.joined(separator: "  ") }

    /// As much of it as takes at most that many columns of a terminal.
    package func fitted(to columns: Int) -> String {
        var shown = parts.map { $0.forms[...] }
        var line: String {
            shown.compactMap(\.first).joined(separator: "  ")
        }
        for place in parts.indices.sorted(by: { parts[$0].rank > parts[$1].rank }) {
            while line.columns > columns, !shown[place].isEmpty, parts[place].rank > 0 {
                shown[place].removeFirst()
            }
        }
        return line.cut(to: columns)
    }
}
