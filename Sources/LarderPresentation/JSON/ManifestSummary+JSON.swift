import LarderKit

extension ManifestSummary {
    /// The reading as one JSON object, without a line end.
    ///
    /// - Parameter source: the manifest that was read.
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
