import LarderImages

/// The formats that manifests are written in, told apart by content.
public enum ManifestFormat: String, Sendable, CaseIterable {
    /// A property list in XML, with or without Apple's document type.
    case xmlPlist = "xml-plist"
    /// A property list that begins with `bplist00`.
    case binaryPlist = "binary-plist"
    /// One JSON document (RFC 8259).
    case json
    /// One JSON object a line.
    case jsonLines = "json-lines"
    /// One URL a line, as wget and aria2 take it.
    case urlList = "url-list"
}

extension ManifestFormat {
    /// What a file's first bytes say it is; its name says nothing. JSON Lines pass as JSON until
    /// the first line has ended.
    ///
    /// Consumes a UTF-8 byte order mark and white space, which formats behind them do not need.
    init(of window: ByteWindow) throws {
        let source = window.input.name
        guard try window.peek() != nil else {
            throw ManifestError(.empty, source: source, "the file is empty")
        }
        if window.unread.starts(with: "bplist".utf8) {
            self = .binaryPlist
            return
        }
        if let isXML = Self.isXMLInUTF16(window.unread) {
            guard isXML else {
                throw ManifestError(
                    .notAManifest, source: source, "this is UTF-16 text; only XML may be UTF-16")
            }
            self = .xmlPlist
            return
        }
        if window.unread.starts(with: [0xEF, 0xBB, 0xBF]) { window.consume(3) }
        switch try window.peekBehindBlanks() {
        case nil:
            throw ManifestError(.empty, source: source, "the file holds nothing but white space")
        case UInt8(ascii: "<") where !Self.isHTML(window.unread): self = .xmlPlist
        case UInt8(ascii: "["), UInt8(ascii: "{"), UInt8.recordSeparator: self = .json
        case .some where Self.isPlaylist(window.unread):
            throw ManifestError(
                .notAManifest, source: source, "not a manifest but a media playlist (#EXTM3U)")
        case .some where Self.isURLList(window.unread): self = .urlList
        case .some: throw Self.refusal(of: window)
        }
    }

    /// Nil if the bytes are not UTF-16 by a byte order mark or by how XML begins.
    private static func isXMLInUTF16(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool? {
        let marks: [[UInt8]] = [[0xFF, 0xFE], [0xFE, 0xFF]]
        let bracket: [[UInt8]] = [[0x3C, 0x00], [0x00, 0x3C]]
        if bracket.contains(where: { bytes.starts(with: $0) }) { return true }
        guard marks.contains(where: { bytes.starts(with: $0) }) else { return nil }
        return bracket.contains { bytes.dropFirst(2).starts(with: $0) }
    }

    private static func isHTML(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.prefix(5).isWord("<html") || bytes.prefix(14).isWord("<!doctype html")
    }

    /// A playlist lists media, not icons (RFC 8216, section 4.3.1.1).
    private static func isPlaylist(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let rest = bytes.dropFirst(7)
        return bytes.prefix(7).isWord("#extm3u")
            && (rest.first.map { $0.isJSONBlank || $0 == UInt8(ascii: ":") } ?? true)
    }

    /// Whether the first line that is neither blank nor a comment begins with a URL.
    private static func isURLList(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        for line in bytes.lazy.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let text = line.drop { $0.isJSONBlank }
            guard let first = text.first, first != UInt8(ascii: "#") else { continue }
            let head = text.prefix(32).lowercasedASCII
            let scheme = head.prefix { 0x61...0x7A ~= $0 || $0.isDigit || $0 == UInt8(ascii: "+") }
            guard !scheme.isEmpty else { return false }
            let rest = head[scheme.endIndex...]
            return rest.starts(with: "://".utf8)
                || rest.first == UInt8(ascii: ":") && scheme.isWord("data")
        }
        return false
    }

    private static func refusal(of window: ByteWindow) -> ManifestError {
        let content = UnsafeRawBufferPointer(window.unread)
        let head = window.unread.prefix(512)
        // A text may begin with the letters of a format, such as MZ or ID3.
        let isText = head.prefix(16).allSatisfy { 0x20..<0x7F ~= $0 || $0.isJSONBlank }
        let mayHaveSignature = !isText || head.first == UInt8(ascii: "%")
        let found =
            isHTML(window.unread)
            ? ContentGuess.page
            : ImageFormat.of(content).map { "an image (\($0.mediaType.name))" }
                ?? (mayHaveSignature ? ContentGuess.signature(of: content) : nil)
                ?? (head.contains(0) ? "binary data" : nil)
        if let found {
            return ManifestError(
                .notAManifest, source: window.input.name, "not a manifest but \(found)")
        }
        let line = String(decoding: head.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
        return window.error(
            .notAManifest,
            "neither a property list nor JSON nor URLs: it begins with "
                + line.maskingSecrets.quoted(limit: 40))
    }
}

/// A plain list of URLs, one a line, as wget and aria2 take it. Blank lines and those that begin
/// with `#` are ignored, and so are aria2's options (indented, with an equals sign) and the mirrors
/// that it allows behind a tab.
struct URLListManifest {
    let window: ByteWindow
    let limits: ManifestLimits
    let recognition: ShapeRecognition

    func read(_ emit: (RawEntry) throws -> Void) throws {
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
        let text = line.drop { $0.isJSONBlank }
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
