import LarderCore
import LarderImages

extension ManifestFormat {
    static func open(
        _ input: ByteInput, limits: ManifestLimits
    ) throws -> (ManifestFormat, ByteWindow) {
        var window = ByteWindow(input)
        _ = try window.peek()
        if Inflater.isGzip(window.unread) {
            window = ByteWindow(try ByteInput(unpacking: window, limits: limits))
        }
        return (try ManifestFormat(of: window), window)
    }

    /// JSON Lines pass as JSON until the first line has ended. Consumes a UTF-8 byte order mark and
    /// white space.
    private init(of window: ByteWindow) throws {
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
            && (rest.first.map { $0.isMarkupBlank || $0 == UInt8(ascii: ":") } ?? true)
    }

    /// Whether the first line that is neither blank nor a comment begins with a URL.
    private static func isURLList(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        for line in bytes.lazy.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let text = line.drop { $0.isMarkupBlank }
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
        let isText = head.prefix(16).allSatisfy { 0x20..<0x7F ~= $0 || $0.isMarkupBlank }
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

/// One value after another of a manifest of any format, in the order of the file.
///
/// The cursor stands before a value, which must be taken, passed over or entered.
protocol ManifestCursor {
    func kind() throws -> ValueKind
    /// The line of the value; nil in a binary plist.
    var line: Int? { get }
    /// The number of bytes that were read. Only differences are meaningful.
    var progress: Int { get }
    /// Takes the value, within the limits of an entry.
    func take() throws -> Result<ManifestValue, EntryError>
    /// Returns what is wrong with the value, if the format tells.
    @discardableResult func skip() throws -> EntryError?
    /// Passes over the value, which `body` may take or pass over if it cannot break the rest.
    func skip(lookingOver body: (Self) throws -> Void) throws
    /// Enters a dictionary, and hands over each key; its value comes next.
    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws
    /// Enters an array; before each call an element comes next.
    func forEachElement(_ body: () throws -> Void) throws
    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError
}

enum ValueKind {
    case dictionary
    case array
    case scalar
}
