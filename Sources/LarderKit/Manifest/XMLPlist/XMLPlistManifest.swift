/// A manifest in an XML property list.
struct XMLPlistManifest {
    private let reader: XMLReader
    private let elements: PlistElementReader

    init(_ window: ByteWindow, limits: ManifestLimits) throws {
        reader = try XMLReader(window)
        elements = PlistElementReader(reader: reader, limits: limits)
    }

    func read(_ emit: (RawEntry) throws -> Void) throws {
        guard try elements.nextChild(), reader.element == .plist else {
            throw reader.error(
                .notAManifest, "the document is a \(reader.shownElement), not a property list")
        }
        guard !reader.isEmpty, try elements.nextChild() else {
            throw reader.error(.notAManifest, "the property list is empty")
        }
        switch reader.element {
        case .array: try readEntries(emit)
        case .dict: try readMembers(emit)
        default:
            throw reader.error(
                .notAManifest,
                "the property list is a \(reader.shownElement), neither array nor dictionary")
        }
        guard try !elements.nextChild() else {
            throw reader.error(.malformed, "more than one value in the property list")
        }
        // What must not follow the list shows at the end of the document only.
        while try reader.advance() != .finished {}
    }

    /// Reads the array that the reader stands on: the entries.
    private func readEntries(_ emit: (RawEntry) throws -> Void) throws {
        guard !reader.isEmpty else { return }
        while try elements.nextChild() {
            let line = reader.line
            try emit(RawEntry(line: line, content: try elements.value()))
        }
    }

    /// Reads the dictionary that the reader stands on: its `apps` are the entries.
    private func readMembers(_ emit: (RawEntry) throws -> Void) throws {
        let line = reader.line
        let isEmpty = reader.isEmpty
        var hasEntries = false
        var complaint = "a dictionary without an array 'apps'"
        while try !isEmpty && elements.nextChild() {
            guard try elements.key() == "apps" else {
                try elements.skip()
                continue
            }
            guard reader.element == .array else {
                complaint = "'apps' is a \(reader.shownElement), not an array"
                try elements.skip()
                continue
            }
            guard !hasEntries else { throw reader.error(.malformed, "'apps' is there twice") }
            hasEntries = true
            try readEntries(emit)
        }
        guard hasEntries else {
            throw ManifestError(.notAManifest, source: reader.source, at: .line(line), complaint)
        }
    }
}
