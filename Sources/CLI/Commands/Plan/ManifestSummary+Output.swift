import LarderCore
import LarderManifest

extension ManifestSummary {
    package func text(of source: ManifestSource) -> String {
        var lines = [
            "\(source.name.sanitizedForTerminal): \(format.rawValue),"
                + " \(places?.shape ?? "of no particular shape"), \(entries.of("entry", "entries"))"
        ]
        lines += suggestions.map { "  perhaps: \($0.options) (\($0.count))" }
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

    package func json(of source: ManifestSource) -> String {
        func texts(_ paths: [ManifestPath]?) -> [String] {
            (paths ?? []).map { "\($0)".sanitizedForTerminal }
        }
        var object = JSONObject()
        object.set("manifest", source.name.sanitizedForTerminal)
        object.set("format", format.rawValue)
        object.set("shape", places?.shape)
        object.set("entries", entries)
        object.set("entries_paths", texts(places?.entries))
        object.set("name_paths", texts(places?.names))
        object.set("icon_paths", texts(places?.icons))
        object.set("priority_path", places?.priority.map { "\($0)".sanitizedForTerminal })
        object.set("integrity_path", places?.integrity.map { "\($0)".sanitizedForTerminal })
        object.set("base", places?.base?.description)
        object.set("suggestions", suggestions.map(\.options))
        object.set("unread", unread)
        object.set("unread_paths", unreadPlaces.map(\.path.sanitizedForTerminal))
        return object.text
    }
}
