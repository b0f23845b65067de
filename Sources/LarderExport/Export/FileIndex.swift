import Foundation
import LarderCache
import LarderCore

/// `index.json` of the layout `files`: a JSON array with a file a line, in the order of their
/// names.
struct FileIndex {
    static let file = "index.json"
    /// Lines that the list lacks, while an export is under way.
    static let pendingFile = ".larder-pending.json"
    /// A longer line is not read: more than an entry's name and URL, all of it escaped.
    private static let longestLine = 128 << 10
    /// More lines than that are not read.
    private static let mostLines = 4_000_000
    /// Nor more bytes, nor more than ``stat/plausibleBytes``.
    private static let mostBytes: Int64 = 2 << 30

    /// What is known of a file.
    struct Line {
        let name: String
        let url: String?
        let file: String
        let size: Int64
        let digest: Digest
        var mediaType: String?
        var width: Int?
        var height: Int?

        init(_ icon: ExportedIcon, _ object: StoredObject, file: String) {
            name = icon.name
            // The list may be published with the files. Import does not find masked URLs.
            let hasOwnKey = ResourceKey.name(in: icon.key) != nil
            url = hasOwnKey ? icon.url?.maskingQuery : icon.url?.maskingSecretsInQuery
            self.file = file
            size = object.size
            digest = object.digest
            mediaType = object.mediaType
            width = object.width
            height = object.height
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

        /// Reads what an export has written; nil of anything else.
        init?(_ text: some Collection<UInt8>) {
            var members = MemberReader(text)
            guard members.skip("{"),
                let name = members.text("name"), members.skip(","),
                let url = members.textOrNull("url"), members.skip(","),
                let file = members.text("file"), members.skip(","), Self.isPlain(file),
                let size = members.integer("bytes"), members.skip(","),
                let hex = members.text("digest"), hex.utf8.starts(with: "sha256:".utf8),
                let digest = Digest(hex: String(decoding: hex.utf8.dropFirst(7), as: UTF8.self))
            else { return nil }
            self.name = name
            self.url = url.text
            self.file = file
            self.size = size
            self.digest = digest
        }

        /// Whether a name leads to something in the directory itself, and not to the list.
        private static func isPlain(_ file: String) -> Bool {
            !file.utf8.isEmpty && file.utf8.count <= 255 && file.utf8.first != UInt8(ascii: ".")
                && !file.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
                && !file.isSame(as: FileIndex.file)
        }
    }

    private let directory: FileDescriptor
    private let name: String

    /// The list in a directory, if there is one.
    init(in directory: FileDescriptor, _ name: String = file) {
        self.directory = directory
        self.name = name
    }

    /// Hands over the lines that can be read, with their text: what others have written into the
    /// file is passed over.
    ///
    /// - Parameter goOn: is called often; what it throws ends the reading.
    /// - Returns: whether there is a list.
    @discardableResult
    func forEach(
        _ goOn: () throws -> Void, _ body: (_ line: Line, _ text: String) throws -> Void
    ) throws -> Bool {
        guard try directory.status(of: name)?.isRegularFile == true else { return false }
        let file = try directory.file(name)
        let status = try file.status()
        guard status.isRegularFile else { return false }
        var rest: [UInt8] = []
        var isTooLong = false
        var (lines, bytesLeft) = (0, min(Self.mostBytes, status.plausibleBytes))
        while lines < Self.mostLines, bytesLeft > 0 {
            try goOn()
            let bytes = try file.read(atMost: 64 << 10)
            if bytes.isEmpty { break }
            bytesLeft -= Int64(bytes.count)
            for piece in bytes.split(
                separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
            ).enumerated() {
                if piece.offset > 0 {
                    if !isTooLong { try take(rest, body) }
                    lines += 1
                    rest.removeAll(keepingCapacity: true)
                    isTooLong = false
                }
                if rest.count + piece.element.count > Self.longestLine { isTooLong = true }
                if !isTooLong { rest += piece.element }
            }
        }
        if !isTooLong { try take(rest, body) }
        return true
    }

    private func take(
        _ bytes: [UInt8], _ body: (Line, String) throws -> Void
    ) throws {
        let text = bytes.last == UInt8(ascii: ",") ? bytes.dropLast() : bytes[...]
        guard text.first == UInt8(ascii: "{"), let line = Line(text) else { return }
        try body(line, String(decoding: text, as: UTF8.self))
    }
}

/// A file that is made piece by piece, and digested meanwhile.
final class GeneratedFile {
    private let file: FileDescriptor
    private var hasher = RunningDigest()
    private var buffer: [UInt8] = []
    private var count: Int64 = 0

    init(_ file: FileDescriptor) { self.file = file }

    func write(_ text: String) throws(CacheError) {
        buffer.append(contentsOf: text.utf8)
        if buffer.count >= 64 << 10 { try flush() }
    }

    func write(_ bytes: [UInt8]) throws(CacheError) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= 64 << 10 { try flush() }
    }

    /// Writes the rest.
    func finish() throws(CacheError) -> (digest: Digest, count: Int64) {
        try flush()
        return (hasher.digest, count)
    }

    private func flush() throws(CacheError) {
        try file.write(buffer)
        hasher.update(buffer)
        count += Int64(buffer.count)
        buffer.removeAll(keepingCapacity: true)
    }
}

/// Reads the members of a JSON object that was written here, in their order. No dictionary is made
/// of them: to compare keys of somebody's making may take minutes.
struct MemberReader {
    private var rest: ArraySlice<UInt8>

    init(_ text: some Collection<UInt8>) { rest = Array(text)[...] }

    /// Goes on behind these characters; false if others come.
    mutating func skip(_ text: StaticString) -> Bool {
        let isNext = text.withUTF8Buffer { rest.starts(with: $0) }
        if isNext { rest = rest.dropFirst(text.utf8CodeUnitCount) }
        return isNext
    }

    private mutating func skip(key: StaticString) -> Bool {
        skip("\"") && skip(key) && skip("\":")
    }

    /// A member that is a text.
    mutating func text(_ key: StaticString) -> String? {
        guard skip(key: key) else { return nil }
        return text()
    }

    /// A member that is a text or null.
    mutating func textOrNull(_ key: StaticString) -> (text: String?, Void)? {
        guard skip(key: key) else { return nil }
        if skip("null") { return (nil, ()) }
        return text().map { ($0, ()) }
    }

    /// A member that is a count.
    mutating func integer(_ key: StaticString) -> Int64? {
        guard skip(key: key) else { return nil }
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
        // An array of one, since not every Foundation reads a text alone.
        let json = Data("[".utf8 + rest[...end] + "]".utf8)
        rest = rest[(end + 1)...]
        return (try? JSONSerialization.jsonObject(with: json) as? [Any])?.first as? String
    }
}
