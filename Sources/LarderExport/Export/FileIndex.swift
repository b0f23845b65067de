import Foundation
import LarderCache
import LarderCore

/// The `index.json` of the layout `files`: a JSON array with one file per line, sorted by name.
enum FileIndex {
    static let file = "index.json"
    /// The files that an export may write or remove, for the next export if this one is killed.
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

    /// Reads a line like ``json``. Finds the keys as bytes and builds no dictionary, because
    /// comparing untrusted keys can take minutes.
    init?(_ text: some Collection<UInt8>) {
        var rest = Array(text)[...]
        // The bytes before each key: nothing, and the values of the first four keys.
        var values: [ArraySlice<UInt8>] = []
        let keys = [#"{"name":"#, #","url":"#, #","file":"#, #","bytes":"#, #","digest":"sha256:"#]
        for key in keys {
            guard let range = rest.firstRange(of: key.utf8) else { return nil }
            values.append(rest[..<range.lowerBound])
            rest = rest[range.upperBound...]
        }
        let list = Array(values[1...3].joined(separator: ",".utf8))
        let json = Data("[".utf8 + list + "]".utf8)
        guard values[0].isEmpty, let texts = try? JSONDecoder().decode([String?].self, from: json),
            texts.count == 3, let name = texts[0], let file = texts[2],
            (1...255).contains(file.utf8.count), file.utf8.first != UInt8(ascii: "."),
            !file.isSame(as: FileIndex.file),
            !file.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 }),
            let size = Int64(String(decoding: values[4], as: UTF8.self)),
            let digest = Digest(hex: String(decoding: rest.prefix(64), as: UTF8.self))
        else { return nil }
        self.init(name: name, url: texts[1], file: file, size: size, digest: digest)
    }

    var json: String {
        var line = JSONObject()
        line.set(exactly: "name", name)
        line.set(exactly: "url", url)
        line.set(exactly: "file", file)
        line.set([
            "bytes": size, "digest": "\(digest)", "media_type": mediaType, "width": width,
            "height": height,
        ])
        return line.text
    }
}
