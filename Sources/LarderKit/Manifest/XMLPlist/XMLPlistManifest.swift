/// A manifest in an XML property list.
struct XMLPlistManifest {
    let window: ByteWindow
    let limits: ManifestLimits
    let recognition: ShapeRecognition

    func read(_ emit: @escaping (RawEntry) throws -> Void) throws {
        let reader = try PlistReader(window, limits: limits)
        let cursor = PlistCursor(reader: reader, limits: limits)
        // Any other document was refused by the filter.
        guard try cursor.nextChild(), !reader.isEmpty, try cursor.nextChild() else {
            throw reader.error(.notAManifest, "the property list is empty")
        }
        guard reader.element == .array || reader.element == .dict else {
            throw reader.error(
                .notAManifest,
                "the property list is a \(reader.shownElement), neither array nor dictionary")
        }
        let line = reader.line
        let walk = EntryWalk(cursor, recognition, limits: limits, emit)
        try walk.walk()
        guard try !cursor.nextChild() else {
            throw reader.error(.malformed, "more than one value in the property list")
        }
        // What must not follow the list shows at the end of the document only.
        while try reader.advance() != .finished {}
        guard try walk.finish() else {
            throw ManifestError(
                .notAManifest, source: reader.source, at: .line(line), walk.refusal)
        }
    }
}
