import LarderCore

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
