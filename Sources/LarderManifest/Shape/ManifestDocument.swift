import LarderCore

struct ManifestDocument {
    let window: ByteWindow
    let limits: ManifestLimits
    let recognition: ShapeRecognition

    func readXMLPlist(_ emit: @escaping (RawEntry) throws -> Void) throws {
        let cursor = try PlistCursor(window, limits: limits)
        guard try cursor.begin() else {
            throw cursor.error(.notAManifest, "the property list is empty")
        }
        guard cursor.kind() != .scalar else {
            throw cursor.error(
                .notAManifest,
                "the property list is a \(cursor.shownElement), neither array nor dictionary")
        }
        let line = cursor.line
        let walk = EntryWalk(cursor, recognition, limits: limits, emit)
        try walk.walk()
        try cursor.finish()
        guard try walk.finish() else {
            throw ManifestError(
                .notAManifest, source: cursor.source, at: line.map { .line($0) }, walk.refusal)
        }
    }

    /// Objects may be shared, so that a small file can name more values than any memory holds: an
    /// entry is bounded by what it unfolds to, and so is the sum of all.
    func readBinaryPlist(_ emit: @escaping (RawEntry) throws -> Void) throws {
        let name = window.input.name
        var cursor: BinaryPlistCursor?
        do {
            let root = try BinaryPlistCursor(window, limits: limits)
            cursor = root
            guard try root.kind() != .scalar else {
                throw ManifestError(
                    .notAManifest, source: name,
                    "the property list is neither an array nor a dictionary")
            }
            var emitted = 0
            let walk = EntryWalk(root, recognition, limits: limits) { entry in
                emitted += 1
                root.position = emitted + 1
                try emit(entry)
            }
            try walk.walk()
            guard try walk.finish() else {
                throw ManifestError(.notAManifest, source: name, walk.refusal)
            }
        } catch let damage as BinaryPlist.Damage {
            throw ManifestError(
                damage.code, source: name, at: cursor?.position.map { .entry($0) }, damage.reason)
        }
    }
}

/// A plain list of URLs, one a line, as wget and aria2 take it. Blank lines and those that begin
/// with `#` are ignored, and so are aria2's options (indented, with an equals sign) and the mirrors
/// that it allows behind a tab.
extension ManifestDocument {
    func readURLList(_ emit: (RawEntry) throws -> Void) throws {
        let shape = recognition.settleURLs()
        while try window.peek() != nil {
            let line = window.line
            guard let length = try window.lineLength(limit: limits.maximumEntrySize) else {
                try window.skipLine()
                try emit(RawEntry(line: line, content: .failure(.tooLarge(limits)), shape: shape))
                continue
            }
            let url = Self.url(UnsafeBufferPointer(rebasing: window.unread.prefix(length)))
            window.consume(length)
            guard let url else { continue }
            let error = EntryError(
                .unparsableURL, "the line has more than one URL; separate several with tabs")
            try emit(
                RawEntry(
                    line: line,
                    content: Self.isSeveral(url) ? .failure(error) : .success(.string(url)),
                    shape: shape))
        }
    }

    private static func url(_ line: UnsafeBufferPointer<UInt8>) -> String? {
        let text = line.drop { $0.isMarkupBlank }
        guard let first = text.first, first != UInt8(ascii: "#") else { return nil }
        var url = text.prefix { $0 != 0x09 && $0 != 0x0A }
        if url.last == 0x0D { url = url.dropLast() }
        if text.startIndex > line.startIndex, isOption(url) { return nil }
        return String(urlBytes: url)
    }

    private static func isSeveral(_ url: String) -> Bool {
        let bytes = url.utf8
        return bytes.contains(0x0D) || bytes.holds(" http://") || bytes.holds(" https://")
    }

    /// `out=name.png`: a URL would have a colon before any equals sign.
    private static func isOption(_ text: some Collection<UInt8>) -> Bool {
        text.first { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") } == UInt8(ascii: "=")
    }
}
