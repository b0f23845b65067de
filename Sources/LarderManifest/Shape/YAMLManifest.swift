import LarderCore

/// A YAML stream. Each document has entries, or is an entry, as in DEP-11.
extension ManifestDocument {
    func readYAML(_ emit: @escaping (RawEntry) throws -> Void) throws {
        let cursor = try YAMLCursor(window, limits: limits)
        guard try cursor.beginDocument() else {
            throw cursor.error(.empty, "the file has only comments or empty YAML documents")
        }
        let walk = EntryWalk(cursor, recognition, limits: limits, emit)
        let first = cursor.line
        var isAlone = true
        var hasEntries = false
        var hasRootEntries = false
        var line = first
        while true {
            let kind = cursor.kind()
            if kind == .scalar,
                let refusal = try cursor.refusalOfScalar(isExplicit: recognition.isExplicit)
            {
                throw refusal
            }
            try walk.walk()
            let hasNext = try cursor.beginDocument()
            isAlone = isAlone && !hasNext
            if try walk.finish() {
                hasEntries = true
            } else if kind == .dictionary, !recognition.isExplicit, !isAlone || walk.root.hasIcon {
                try walk.emitRoot(line)
                hasRootEntries = true
            }
            guard hasNext else { break }
            walk.restart()
            line = cursor.line
        }
        guard hasEntries || hasRootEntries && !recognition.isStrange else {
            throw notAManifest(at: first, walk.refusal)
        }
    }
}
