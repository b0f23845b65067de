/// JSON Lines: each line that is not blank is an entry, and a broken one spoils no other.
struct JSONLinesManifest {
    let window: ByteWindow
    let limits: ManifestLimits

    /// Reads from the beginning of a line to the end of the file.
    func read(
        _ body: (_ line: Int, Result<ManifestValue, EntryError>) throws -> Void
    ) throws {
        while try window.peekBehindBlanks() != nil {
            let line = window.line
            try body(line, try takeLine())
        }
    }

    private func takeLine() throws -> Result<ManifestValue, EntryError> {
        guard let length = try window.lineLength(limit: limits.maximumEntrySize) else {
            try window.skipLine()
            return .failure(.tooLarge(limits))
        }
        defer { window.consume(length) }
        let bytes = UnsafeBufferPointer(rebasing: window.unread.prefix(length))
        var parser = JSONParser(bytes, isWhole: true, maximumDepth: limits.maximumDepth)
        do throws(JSONParser.Failure) {
            let value = try parser.value()
            try parser.finish()
            return .success(value)
        } catch {
            switch error {
            case .unfinished: return .failure(.unfinishedLine)
            case .tooDeep: return .failure(.tooDeep(limits))
            case .syntax(let offset, let reason):
                guard case .line(_, let column?) = window.place(at: offset) else {
                    return .failure(.unfinishedLine)
                }
                return .failure(.unparsableLine(column: column, reason))
            }
        }
    }
}

extension EntryError {
    static let unfinishedLine = EntryError(
        .unparsableLine, "the line ends before its object does")

    static func unparsableLine(column: Int, _ reason: String) -> EntryError {
        EntryError(.unparsableLine, "column \(column): \(reason)")
    }
}
