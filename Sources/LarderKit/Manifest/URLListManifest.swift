import LarderTransfer

/// A plain list of URLs, one a line, as wget and aria2 take it: blank lines and those that begin
/// with `#` are passed over, so are aria2's options (indented, with an equals sign) and the mirrors
/// that it allows behind a tab.
struct URLListManifest {
    private let window: ByteWindow
    private let limits: ManifestLimits

    init(_ window: ByteWindow, limits: ManifestLimits) {
        self.window = window
        self.limits = limits
    }

    /// Hands over every URL with its line.
    func read(
        _ body: (_ line: Int, Result<ManifestValue, EntryError>) throws -> Void
    ) throws {
        while try window.peek() != nil {
            let line = window.line
            guard let length = try window.lineLength(limit: limits.maximumEntrySize) else {
                try window.skipLine()
                try body(line, .failure(.tooLarge(limits)))
                continue
            }
            let url = Self.url(UnsafeBufferPointer(rebasing: window.unread.prefix(length)))
            window.consume(length)
            guard let url else { continue }
            try body(line, Self.isSeveral(url) ? .failure(.severalURLs) : .success(.string(url)))
        }
    }

    private static func url(_ line: UnsafeBufferPointer<UInt8>) -> String? {
        let text = line.drop { $0.isJSONBlank }
        guard let first = text.first, first != UInt8(ascii: "#") else { return nil }
        var url = text.prefix { $0 != 0x09 && $0 != 0x0A }
        if url.last == 0x0D { url = url.dropLast() }
        if text.startIndex > line.startIndex, isOption(url) { return nil }
        return String(decoding: url, as: UTF8.self)
    }

    private static func isSeveral(_ url: String) -> Bool {
        let bytes = url.utf8
        return bytes.contains(0x0D) || bytes.holds(" http://") || bytes.holds(" https://")
    }

    /// `out=name.png`, where a URL would have a colon before any equals sign.
    private static func isOption(_ text: some Collection<UInt8>) -> Bool {
        text.first { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") } == UInt8(ascii: "=")
    }
}

extension EntryError {
    fileprivate static var severalURLs: EntryError {
        EntryError(
            .unparsableURL, "the line has more than one URL; separate several with tabs")
    }
}
