import Foundation
import LarderCache
import LarderCore

/// The `index.json` of the layout `files`: a JSON array with one file per line, sorted by name.
enum FileIndex {
    static let file = "index.json"
    /// The list of files that an export may write or remove, for the next export if this one is
    /// killed.
    static let pendingFile = ".larder-pending.json"
    /// The maximum size of a line in bytes. Names and URLs are shorter, even when escaped.
    private static let longestLine = 128 << 10
    private static let mostLines = 4_000_000
    /// The maximum size of the file in bytes. ``stat/plausibleBytes`` limits it too.
    private static let mostBytes: Int64 = 2 << 30

    struct Line {
        let name: String
        let url: String?
        let file: String
        let size: Int64
        let digest: Digest
        var mediaType: String?
        var width: Int?
        var height: Int?
    }

    /// Calls `body` with pages of valid lines. Returns false if the list does not exist.
    @discardableResult
    static func forEachPage(
        of name: String, in directory: FileDescriptor, _ checkCancellation: () throws -> Void,
        _ body: ([(line: Line, text: String)]) throws -> Void
    ) throws -> Bool {
        guard try directory.status(of: name)?.isRegularFile == true else { return false }
        let file = try directory.file(name)
        let status = try file.status()
        guard status.isRegularFile else { return false }
        var rest: [UInt8] = []
        var (lines, bytesLeft) = (0, min(Self.mostBytes, status.plausibleBytes))
        while lines < Self.mostLines, bytesLeft > 0 {
            try checkCancellation()
            let bytes = try file.read(atMost: 64 << 10)
            if bytes.isEmpty { break }
            bytesLeft -= Int64(bytes.count)
            var page = (rest + bytes).split(
                separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            // Keeps one byte above the limit, so that `line` recognises a line that is too long.
            rest = Array(page.removeLast().prefix(Self.longestLine + 1))
            lines += page.count
            try body(page.compactMap(Self.line))
        }
        if let line = Self.line(rest[...]) { try body([line]) }
        return true
    }

    private static func line(_ bytes: ArraySlice<UInt8>) -> (line: Line, text: String)? {
        let text = bytes.last == UInt8(ascii: ",") ? bytes.dropLast() : bytes
        guard bytes.count <= longestLine, text.first == UInt8(ascii: "{"), let line = Line(text)
        else { return nil }
        return (line, String(decoding: text, as: UTF8.self))
    }
}

extension FileIndex.Line {
    init(_ icon: ExportedIcon, _ rendition: Rendition, file: String) {
        // Secrets are masked, because the list may be published. An import cannot find masked URLs.
        let hasOwnKey = ResourceKey.name(in: icon.key) != nil
        self.init(
            name: icon.name,
            url: hasOwnKey ? icon.url?.maskingQuery : icon.url?.maskingSecretsInQuery, file: file,
            size: rendition.size, digest: rendition.digest, mediaType: rendition.mediaType,
            width: rendition.width, height: rendition.height)
    }

    init?(_ text: some Collection<UInt8>) {
        var members = MemberReader(text)
        guard let name = members.text(#"{"name":"#),
            let url = members.textOrNull(#","url":"#),
            let file = members.text(#","file":"#), (1...255).contains(file.utf8.count),
            file.utf8.first != UInt8(ascii: "."), !file.isSame(as: FileIndex.file),
            !file.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 }),
            let size = members.integer(#","bytes":"#),
            let hex = members.text(#","digest":"#), hex.utf8.starts(with: "sha256:".utf8),
            let digest = Digest(hex: String(decoding: hex.utf8.dropFirst(7), as: UTF8.self))
        else { return nil }
        self.init(name: name, url: url, file: file, size: size, digest: digest)
    }

    var json: String {
        var line = JSONObject()
        line.set("name", exactly: name)
        if let url { line.set("url", exactly: url) } else { line.set("url", nil as String?) }
        line.set("file", exactly: file)
        line.set("bytes", size)
        line.set("digest", "\(digest)")
        line.set("media_type", mediaType)
        line.set("width", width)
        line.set("height", height)
        return line.text
    }
}

/// A reader of JSON members in a fixed order. Builds no dictionary, because comparing untrusted
/// keys can take minutes. Keys include the punctuation around them.
private struct MemberReader {
    private var rest: ArraySlice<UInt8>

    init(_ text: some Collection<UInt8>) { rest = Array(text)[...] }

    private mutating func skip(_ text: StaticString) -> Bool {
        let isNext = text.withUTF8Buffer { rest.starts(with: $0) }
        if isNext { rest = rest.dropFirst(text.utf8CodeUnitCount) }
        return isNext
    }

    mutating func text(_ key: StaticString) -> String? { skip(key) ? text() : nil }

    /// Returns `.some(nil)` for null, and nil if the member is missing or malformed.
    mutating func textOrNull(_ key: StaticString) -> String?? {
        guard skip(key) else { return nil }
        return skip("null") ? .some(nil) : text().map(Optional.some)
    }

    mutating func integer(_ key: StaticString) -> Int64? {
        guard skip(key) else { return nil }
        let digits = rest.prefix(while: \.isDigit)
        rest = rest.dropFirst(digits.count)
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    private mutating func text() -> String? {
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        var end = rest.startIndex + 1
        while end < rest.endIndex, rest[end] != UInt8(ascii: "\"") {
            end += rest[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard end < rest.endIndex else { return nil }
        // Decodes an array, because some versions of Foundation reject a top-level string.
        let json = Data("[".utf8 + rest[...end] + "]".utf8)
        rest = rest[(end + 1)...]
        return (try? JSONSerialization.jsonObject(with: json) as? [Any])?.first as? String
    }
}
