import LarderKit

extension ManifestSummary {
    /// The reading for people, a few lines.
    ///
    /// - Parameter source: the manifest that was read.
    package func text(of source: ManifestSource) -> String {
        var lines = [
            "\(source.name.sanitizedForTerminal): \(format.rawValue),"
                + " \(places?.shape ?? "of no particular shape"), \(entries.of("entry", "entries"))"
        ]
        for suggestion in suggestions {
            lines.append("  perhaps: \(suggestion.options) (\(suggestion.count))")
        }
        let unread = unreadPlaces.map { "\($0.path.sanitizedForTerminal) (\($0.count))" }
        if !unread.isEmpty { lines.append("  not read: \(unread.joined(separator: ", "))") }
        guard let places else { return lines.joined(separator: "\n") }
        func add(_ label: String, _ paths: [ManifestPath]) {
            guard !paths.isEmpty else { return }
            let shown = paths.map { "\($0)".sanitizedForTerminal }.joined(separator: ", ")
            lines.append("  \(label): \(shown)")
        }
        add("entries", places.entries)
        add("name", places.names)
        add("icons", places.icons)
        add("priority", places.priority.map { [$0] } ?? [])
        add("integrity", places.integrity.map { [$0] } ?? [])
        if let base = places.base { lines.append("  base: \(base)") }
        return lines.joined(separator: "\n")
    }
}
