import LarderCore

struct ManifestDocument {
    let window: ByteWindow
    let limits: ManifestLimits
    let recognition: ShapeRecognition

    func readXML(_ emit: @escaping (RawEntry) throws -> Void) throws -> ManifestFormat {
        let xml = try ManifestXML(window, limits: limits)
        guard try xml.begin() else {
            recognition.prepareForXML()
            let cursor = XMLCursor(xml, limits: limits)
            try read(cursor, finish: cursor.finish, emit)
            return .xml
        }
        let cursor = PlistCursor(xml, limits: limits)
        guard try cursor.begin()
        else { throw cursor.error(.notAManifest, "the property list is empty") }
        guard cursor.kind() != .scalar else {
            throw cursor.error(
                .notAManifest,
                "the property list is a \(cursor.shownElement); expected an array or dictionary")
        }
        try read(cursor, finish: cursor.finish, emit)
        return .xmlPlist
    }

    private func read<Cursor: ManifestCursor>(
        _ cursor: Cursor, finish: () throws -> Void, _ emit: @escaping (RawEntry) throws -> Void
    ) throws {
        let line = cursor.line
        let walk = EntryWalk(cursor, recognition, limits: limits, emit)
        try walk.walk()
        try finish()
        guard try walk.finish() else { throw notAManifest(at: line, walk.refusal) }
    }

    func notAManifest(at line: Int?, _ reason: String) -> ManifestError {
        window.error(.notAManifest, at: line.map { .line($0) }, reason)
    }

    func readBinaryPlist(_ emit: @escaping (RawEntry) throws -> Void) throws {
        let cursor = try BinaryPlistCursor(window, limits: limits)
        guard try cursor.kind() != .scalar else {
            throw cursor.error(
                .notAManifest, "the property list is neither an array nor a dictionary")
        }
        var next = 1
        try read(cursor, finish: {}) { entry in
            next += 1
            cursor.plist.position = next
            try emit(entry)
        }
    }

    /// Reads a YAML stream. Each document has entries, or is an entry, as in DEP-11.
    func readYAML(_ emit: @escaping (RawEntry) throws -> Void) throws {
        let cursor = try YAMLCursor(window, limits: limits)
        guard try cursor.beginDocument()
        else { throw cursor.error(.empty, "the file has only comments or empty YAML documents") }
        let walk = EntryWalk(cursor, recognition, limits: limits, emit)
        let first = cursor.line
        var hasNext = true
        var isAlone = true
        var hasEntries = false
        var hasRootEntries = false
        while hasNext {
            walk.restart()
            let (kind, line) = (cursor.kind(), cursor.line)
            if kind == .scalar { try cursor.checkScalar(isExplicit: recognition.isExplicit) }
            try walk.walk()
            hasNext = try cursor.beginDocument()
            isAlone = isAlone && !hasNext
            if try walk.finish() {
                hasEntries = true
            } else if kind == .dictionary, !recognition.isExplicit, !isAlone || walk.root.hasIcon {
                try walk.emitRoot(line)
                hasRootEntries = true
            }
        }
        guard hasEntries || hasRootEntries && !recognition.isStrange
        else { throw notAManifest(at: first, walk.refusal) }
    }

    /// Reads a list with one URL on each line, as for wget and aria2. Ignores blank lines, comments
    /// (`#`), and aria2's options (indented, with an equals sign) and mirrors (after a tab).
    func readURLList(_ emit: (RawEntry) throws -> Void) throws {
        let shape = recognition.settleURLs()
        while try window.peek() != nil {
            let line = window.line
            guard let length = try window.lineLength(limit: limits.maximumEntrySize) else {
                try window.skipLine()
                try emit(RawEntry(line: line, content: .failure(.tooLarge(limits)), shape: shape))
                continue
            }
            let bytes = UnsafeBufferPointer(rebasing: window.unread.prefix(length))
            let start = window.offset
            defer { window.consume(length) }
            guard let found = Self.place(of: bytes) else { continue }
            let url = String(urlBytes: bytes[found])
            let span = SourceSpan(start + found.lowerBound..<start + found.upperBound)
            let error = EntryError(
                .unparsableURL, "the line has more than one URL; put each URL on its own line")
            let separators: [StaticString] = [" http://", " https://", "\r"]
            let content: Result<ManifestValue, EntryError> =
                separators.contains(where: url.utf8.holds)
                ? .failure(error) : .success(.string(url, at: span))
            try emit(RawEntry(line: line, content: content, shape: shape))
        }
    }

    private static func place(of line: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        let text = line.drop { $0.isMarkupBlank }
        guard let first = text.first, first != UInt8(ascii: "#") else { return nil }
        var url = text.prefix { $0 != 0x09 && $0 != 0x0A }
        if url.last == 0x0D { url = url.dropLast() }
        // An option, such as `out=name.png`, has an equals sign before any colon.
        let isOption = url.first { "=:".utf8.contains($0) } == UInt8(ascii: "=")
        return text.startIndex > line.startIndex && isOption ? nil : url.indices
    }
}
