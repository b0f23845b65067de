import LarderCache

/// What a file's first bytes say it is; its name says nothing.
enum ManifestContent {
    case xml
    case binaryPlist
    case json
    case urlList

    /// Consumes a UTF-8 byte order mark and white space, which formats behind them do not need.
    init(of window: ByteWindow) throws {
        let source = window.input.name
        _ = try window.peek()
        if window.count == 0 {
            throw ManifestError(.empty, source: source, "the file is empty")
        }
        if window.unread.starts(with: Array("bplist".utf8)) {
            self = .binaryPlist
            return
        }
        if let isXML = Self.isXMLInUTF16(window.unread) {
            guard isXML else {
                throw ManifestError(
                    .notAManifest, source: source, "this is UTF-16 text; only XML may be UTF-16")
            }
            self = .xml
            return
        }
        if let found = Self.signatures.first(where: { $0.matches(window.unread) }) {
            throw ManifestError(
                .notAManifest, source: source, "this is \(found.name), not a manifest")
        }
        if window.unread.starts(with: [0xEF, 0xBB, 0xBF]) { window.consume(3) }
        switch try window.peekBehindBlanks() {
        case nil:
            throw ManifestError(.empty, source: source, "the file holds nothing but white space")
        case UInt8(ascii: "<"):
            guard !Self.isHTML(window.unread) else {
                throw ManifestError(
                    .notAManifest, source: source, "this is an HTML page, not a manifest")
            }
            self = .xml
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            self = .json
        case .some where Self.isURLList(window.unread):
            self = .urlList
        case .some:
            throw window.error(.notAManifest, Self.refusal(window.unread))
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

    private static func refusal(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        let head = bytes.prefix(512)
        guard !head.contains(0) else { return "this is binary data, not a manifest" }
        let line = head.prefix { $0 != 0x0A && $0 != 0x0D }
        let text = String(decoding: line, as: UTF8.self)
        return
            """
            neither a property list nor JSON nor URLs: it begins with \
            \(text.maskingSecrets.quoted(limit: 40))
            """
    }

    private struct Signature {
        let name: String
        let bytes: [UInt8]
        var offset = 0

        func matches(_ content: UnsafeBufferPointer<UInt8>) -> Bool {
            content.dropFirst(offset).starts(with: bytes)
        }
    }

    /// What is given for a manifest by mistake most often: the icons, and packed files.
    private static let signatures = [
        Signature(name: "a PNG image", bytes: [0x89, 0x50, 0x4E, 0x47]),
        Signature(name: "a JPEG image", bytes: [0xFF, 0xD8, 0xFF]),
        Signature(name: "a GIF image", bytes: Array("GIF8".utf8)),
        Signature(name: "a WebP image", bytes: Array("WEBP".utf8), offset: 8),
        Signature(name: "an ICO image", bytes: [0x00, 0x00, 0x01, 0x00]),
        Signature(name: "a PDF document", bytes: Array("%PDF-".utf8)),
        Signature(name: "a ZIP archive", bytes: [0x50, 0x4B, 0x03, 0x04]),
        Signature(name: "a gzip file", bytes: [0x1F, 0x8B]),
        Signature(name: "a Zstandard file", bytes: [0x28, 0xB5, 0x2F, 0xFD]),
    ]
}
