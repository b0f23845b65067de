/// An XML property list, value by value.
struct PlistCursor: ManifestCursor {
    let elements: PlistElementReader

    private var reader: XMLReader { elements.reader }

    var line: Int? { reader.line }

    var progress: Int { reader.offset }

    func kind() -> ValueKind {
        switch reader.element {
        case .dict: .dictionary
        case .array: .array
        default: .scalar
        }
    }

    func take() throws -> Result<ManifestValue, EntryError> { try elements.value() }

    func skip() throws { try elements.skip() }

    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws {
        guard !reader.isEmpty else { return }
        while try elements.nextChild() { try body(.success(try elements.key())) }
    }

    func forEachElement(_ body: () throws -> Void) throws {
        guard !reader.isEmpty else { return }
        while try elements.nextChild() { try body() }
    }

    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        reader.error(code, reason)
    }
}
