import LarderCore
import LarderImages

extension ManifestFormat {
    static func open(
        _ input: ByteInput, limits: ManifestLimits
    ) throws -> (ManifestFormat, ByteWindow) {
        let window = try ByteWindow.unpacking(input, limits).window
        return (try detected(in: window, limits), window)
    }

    /// Limited, because JSON is parsed again from its start after this check.
    private static let flowStyleLookahead = 64 << 10

    /// Detects the format, and consumes a UTF-8 byte order mark and white space. JSON Lines count
    /// as JSON, and XML counts as a property list, because only later text distinguishes them.
    private static func detected(
        in window: ByteWindow, _ limits: ManifestLimits
    ) throws -> ManifestFormat {
        guard try window.peek() != nil
        else { throw window.error(.empty, at: nil, "the file is empty") }
        if window.unread.starts(with: "bplist".utf8) { return .binaryPlist }
        let hasMark = XMLEncoding.hasUTF16Mark(window.unread)
        let text = window.unread.dropFirst(hasMark ? 2 : 0)
        if text.starts(with: [0x3C, 0x00]) || text.starts(with: [0x00, 0x3C]) { return .xmlPlist }
        guard !hasMark else {
            throw window.error(
                .notAManifest, at: nil, "the file is UTF-16 text; only XML manifests may be UTF-16")
        }
        window.bytes.skipMark()
        switch try window.peekAfterBlanks() {
        case nil: throw window.error(.empty, at: nil, "the file has only white space")
        case UInt8(ascii: "<") where !isHTML(window.unread): return .xmlPlist
        case UInt8(ascii: "{")
        where window.unread.starts(with: "{{".utf8) || window.unread.starts(with: "{%".utf8):
            throw window.error(.notAManifest, YAMLParser.template)
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            return try isYAML(window, limits) ? .yaml : .json
        case UInt8.recordSeparator: return .json
        case UInt8(ascii: "/") where try "[{".utf8.contains(window.peekAfterComments() ?? 0):
            return .json
        case .some where isPlaylist(window.unread):
            throw window.error(
                .notAManifest, at: nil, "the file is a media playlist (#EXTM3U), not a manifest")
        case .some where isURLList(window.unread): return .urlList
        case .some:
            if let found = foreign(in: window) {
                throw window.error(.notAManifest, at: nil, "the file is \(found), not a manifest")
            }
            // The indentation is restored, because libyaml needs it.
            window.bytes.unconsumeLine()
            return .yaml
        }
    }

    /// Whether the text is YAML in flow style: the file name ends in `.yaml` or `.yml`, and either
    /// the first value is not JSON, or a comment or another document follows it.
    private static func isYAML(_ window: ByteWindow, _ limits: ManifestLimits) throws -> Bool {
        // The name can be a URL with a query.
        let path = window.input.name.utf8.prefix { $0 != UInt8(ascii: "?") }
        let name = path.suffix(3).isWord(".gz") ? path.dropLast(3) : path
        guard name.suffix(5).isWord(".yaml") || name.suffix(4).isWord(".yml") else { return false }
        try window.fill(to: flowStyleLookahead)
        let bytes = UnsafeBufferPointer(rebasing: window.unread.prefix(flowStyleLookahead))
        var parser = JSONParser(bytes: bytes, isWhole: false, maximumDepth: limits.maximumDepth)
        do throws(JSONParser.Error) {
            _ = try parser.value()
        } catch {
            return if case .syntax = error { true } else { false }
        }
        let next = bytes[parser.position...].first { !$0.isMarkupBlank }
        return next.map { "#-.".utf8.contains($0) } ?? false
    }

    private static func isHTML(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.prefix(5).isWord("<html") || bytes.prefix(14).isWord("<!doctype html")
    }

    /// Whether the text is an M3U playlist (RFC 8216, section 4.3.1.1).
    private static func isPlaylist(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let rest = bytes.dropFirst(7)
        return bytes.prefix(7).isWord("#extm3u")
            && (rest.first.map { $0.isMarkupBlank || $0 == UInt8(ascii: ":") } ?? true)
    }

    private static func isURLList(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        for line in bytes.lazy.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let text = line.drop { $0.isMarkupBlank }
            guard let first = text.first, first != UInt8(ascii: "#") else { continue }
            let head = text.prefix(32).lowercasedASCII
            let scheme = head.prefix { 0x61...0x7A ~= $0 || $0.isDigit || $0 == UInt8(ascii: "+") }
            guard !scheme.isEmpty else { return false }
            let rest = head[scheme.endIndex...]
            // In YAML, white space follows the colon after a key.
            return rest.starts(with: "://".utf8)
                || rest.first == UInt8(ascii: ":") && scheme.isWord("data")
                    && !(rest.dropFirst().first?.isMarkupBlank ?? true)
        }
        return false
    }

    private static func foreign(in window: ByteWindow) -> String? {
        if isHTML(window.unread) { return ContentGuess.page }
        let content = UnsafeRawBufferPointer(window.unread)
        if let image = ImageFormat.of(content) { return "an image (\(image.mediaType.name))" }
        let head = window.unread.prefix(512)
        // Text may start like a binary format, for example with MZ or ID3.
        let isText = head.prefix(16).allSatisfy { 0x20..<0x7F ~= $0 || $0.isMarkupBlank }
        let mayHaveSignature = !isText || head.first == UInt8(ascii: "%")
        return (mayHaveSignature ? ContentGuess.signature(of: content) : nil)
            ?? (head.contains(0) ? "binary data" : nil)
    }

    static func refusal(of window: ByteWindow) -> ManifestError {
        let line = window.unread.prefix(512).prefix { $0 != 0x0A && $0 != 0x0D }
        return window.error(
            .notAManifest,
            "the file is not a property list, JSON, YAML or a list of URLs; it starts with "
                + String(decoding: line, as: UTF8.self).maskingSecrets.quoted(limit: 40))
    }
}

/// A cursor before a value, which the caller must take, skip or enter. Values are in file order.
protocol ManifestCursor {
    func kind() throws -> ValueKind
    /// The current line, or nil in a binary plist.
    var line: Int? { get }
    /// The position in bytes. Only differences are meaningful.
    var progress: Int { get }
    func take() throws -> Result<ManifestValue, EntryError>
    /// Skips the value. Returns an error if it is found to be invalid.
    @discardableResult func skip() throws -> EntryError?
    /// Calls `body` with a cursor at the value. `body` must take or skip the value. An error that
    /// `body` throws is ignored if the rest of the manifest is readable.
    func skip(inspectingWith body: (Self) throws -> Void) throws
    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws
    func forEachElement(_ body: () throws -> Void) throws
    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError
}

extension ManifestCursor {
    func skip(inspectingWith body: (Self) throws -> Void) throws { try body(self) }
}

enum ValueKind { case dictionary, array, scalar }
