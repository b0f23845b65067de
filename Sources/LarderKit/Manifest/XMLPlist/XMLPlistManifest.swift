/// A manifest in an XML property list.
struct XMLPlistManifest {
    private let reader: XMLReader
    private let elements: PlistElementReader
    private let recognition: ShapeRecognition

    init(_ window: ByteWindow, limits: ManifestLimits, recognition: ShapeRecognition) throws {
        reader = try XMLReader(window)
        elements = PlistElementReader(reader: reader, limits: limits)
        self.recognition = recognition
    }

    func read(_ emit: @escaping (RawEntry) throws -> Void) throws {
        // Of any other document the filter tells.
        guard try elements.nextChild(), !reader.isEmpty, try elements.nextChild() else {
            throw reader.error(.notAManifest, "the property list is empty")
        }
        guard reader.element == .array || reader.element == .dict else {
            throw reader.error(
                .notAManifest,
                "the property list is a \(reader.shownElement), neither array nor dictionary")
        }
        let line = reader.line
        let walk = EntryWalk(
            PlistCursor(elements: elements), recognition, limits: elements.limits, emit)
        try walk.walk()
        guard try !elements.nextChild() else {
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
