import Foundation
import GRDB
import LarderCache
import LarderCore

struct NamedFiles: ExportedFiles {
    /// The maximum size of a file in bytes. Icons are smaller.
    private static let largestFile: Int64 = 1 << 30

    private let writer: ExportWriter
    private let renditions: Renditions
    private let database: DatabaseQueue
    private var folder: FileDescriptor { writer.folder }

    init(_ writer: ExportWriter, _ renditions: Renditions) throws {
        (self.writer, self.renditions) = (writer, renditions)
        database = try .scratch(
            """
            CREATE TABLE main.earlier (
                file TEXT NOT NULL, digest BLOB NOT NULL, size INTEGER NOT NULL,
                stem TEXT NOT NULL, folded_stem TEXT NOT NULL,
                folded_file TEXT NOT NULL, line TEXT NOT NULL, is_pending INTEGER NOT NULL,
                PRIMARY KEY (file, digest)
            ) WITHOUT ROWID;
            CREATE INDEX main.pending ON earlier (file, digest) WHERE is_pending;
            CREATE TABLE main.current (
                file TEXT PRIMARY KEY, folded_file TEXT NOT NULL, folded_stem TEXT NOT NULL,
                line TEXT NOT NULL
            ) WITHOUT ROWID;
            CREATE INDEX main.by_file ON current (folded_file);
            CREATE INDEX main.by_stem ON current (folded_stem);
            """)
    }

    func location(of rendition: Rendition, _ stem: String) -> (FileDescriptor, String)? {
        (folder, rendition.file(stem))
    }

    func place(_ icon: [Rendition], _ stem: String) throws -> [PlacedFile] {
        try icon.map { (try writer.place($0, as: $0.file(stem)), $0.size) }
    }

    func begin(_ list: ExportList) throws {
        for (name, arePending) in [(FileIndex.file, false), (FileIndex.pendingFile, true)] {
            try FileIndex.forEachPage(of: name, in: folder, writer.checkCancellation) {
                try addEarlier($0, arePending: arePending)
            }
        }
        try forEachPage(of: list, onlyExisting: false) {
            try addEarlier($0.map { ($0, $0.json) }, arePending: true)
        }
        try writePending()
    }

    /// Adds lines to the table `earlier`. If a file and digest have several lines, keeps the first.
    private func addEarlier(
        _ lines: [(line: FileIndex.Line, text: String)], arePending: Bool
    ) throws {
        try database.run(
            "INSERT OR IGNORE INTO earlier VALUES (?, ?, ?, ?, ?, ?, ?, ?)", for: lines
        ) {
            let (line, text) = $0
            let stem = Self.stem(line)
            return [
                line.file, line.digest, line.size, stem, SafeName.folded(stem),
                SafeName.folded(line.file), text, arePending,
            ]
        }
    }

    private static func stem(_ line: FileIndex.Line) -> String {
        ImageFile.stem(withoutScale: PathExtension.without(line.file))
    }

    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws {
        try forEachPage(of: list, onlyExisting: true) { lines in
            try database.run("INSERT OR IGNORE INTO current VALUES (?, ?, ?, ?)", for: lines) {
                [$0.file, SafeName.folded($0.file), SafeName.folded(Self.stem($0)), $0.json]
            }
        }
        try forEachEarlier { earlier in
            try writer.checkCancellation()
            // The files of failed icons are kept.
            guard try !prune || isWanted(earlier, list),
                try isUnchanged(earlier, readsBytes: earlier.hasOtherDigest)
            else { return }
            // Without a stem, so that this entry does not replace earlier files with the same stem.
            try database.run(
                """
                INSERT OR IGNORE INTO current
                SELECT file, folded_file, '', line FROM earlier WHERE file = ? AND digest = ?
                """, for: [earlier]
            ) { [$0.file, $0.digest] }
        }
        if prune {
            try database.execute(
                """
                UPDATE earlier SET is_pending = 1
                WHERE file NOT IN (SELECT file FROM current)
                """)
            try writePending()
        }
        try write(FileIndex.file, "SELECT line FROM current ORDER BY file")
        if prune {
            try forEachEarlier { earlier in
                try writer.checkCancellation()
                if try isUnchanged(earlier), try writer.remove(earlier.file) { report.pruned += 1 }
            }
        }
        if try folder.status(of: FileIndex.pendingFile)?.isDirectory == false {
            _ = try writer.remove(FileIndex.pendingFile)
        }
    }

    private func writePending() throws {
        let condition = "FROM earlier WHERE is_pending"
        guard try database.hasRow("SELECT 1 \(condition) AND ? LIMIT 1", true) else { return }
        try write(FileIndex.pendingFile, "SELECT line \(condition) ORDER BY file, digest")
    }

    private func write(_ name: String, _ sql: String) throws {
        try writer.write(as: name) { file in
            var isEmpty = true
            try database.forEachRow(sql) { row in
                try writer.checkCancellation()
                try file.write((isEmpty ? "[\n" : ",\n") + row.requireText())
                isEmpty = false
            }
            try file.write(isEmpty ? "[]\n" : "\n]\n")
        }
    }

    private func forEachPage(
        of list: ExportList, onlyExisting: Bool, _ body: ([FileIndex.Line]) throws -> Void
    ) throws {
        try list.forEachPage { page in
            try writer.checkCancellation()
            var lines: [FileIndex.Line] = []
            for icon in page {
                guard let stem = icon.stem, let object = icon.object else { continue }
                for rendition in renditions.known(object) {
                    let file = rendition.file(stem)
                    if onlyExisting, try folder.sizeOfFile(file) != rendition.size { continue }
                    lines.append(FileIndex.Line(icon, rendition, file: file))
                }
            }
            try body(lines)
        }
    }

    private struct Earlier {
        let file: String
        let stem: String
        let digest: Digest
        let size: Int64
        let isReplaced: Bool
        let isRespelled: Bool
        /// Whether a line of an interrupted export has a different digest.
        let hasOtherDigest: Bool
    }

    private func forEachEarlier(_ body: (Earlier) throws -> Void) throws {
        try database.forEachPage({ try $0.forEach(body) }) { (db: Database, last: Earlier?) in
            try db.prepared(
                """
                SELECT file, stem, digest, size,
                    folded_stem IN (SELECT folded_stem FROM current WHERE folded_stem <> ''),
                    folded_file IN (SELECT folded_file FROM current),
                    EXISTS (SELECT * FROM earlier o WHERE o.file = e.file AND o.digest <> e.digest)
                FROM earlier e
                WHERE (file, digest) > (?, ?) AND file NOT IN (SELECT file FROM current)
                ORDER BY file, digest LIMIT 256
                """
            ).rows(last?.file ?? "", last?.digest) {
                Earlier(
                    file: try $0.requireText(), stem: try $0.requireText(),
                    digest: try $0.requireDigest(), size: $0.integer(), isReplaced: $0.bool(),
                    isRespelled: $0.bool(), hasOtherDigest: $0.bool())
            }
        }
    }

    private func isWanted(_ earlier: Earlier, _ list: ExportList) throws -> Bool {
        guard !earlier.isReplaced else { return false }
        return try list.has(earlier.stem)
            || list.hasEquivalent(earlier.stem) && folder.ignoresCase(of: earlier.file)
    }

    /// Whether the file has the listed size, the listed digest if `readsBytes`, and no other
    /// spelling in this export.
    private func isUnchanged(_ earlier: Earlier, readsBytes: Bool = true) throws -> Bool {
        guard try folder.sizeOfFile(earlier.file) == earlier.size,
            try !(earlier.isRespelled && folder.ignoresCase(of: earlier.file))
        else { return false }
        guard readsBytes else { return true }
        guard earlier.size <= Self.largestFile, let file = try? folder.file(earlier.file)
        else { return false }
        let status = try file.status()
        guard status.isRegularFile, status.st_size <= status.plausibleBytes else { return false }
        return try writer.digest(of: file) == earlier.digest
    }
}

/// The `index.json` of the layout `files`: a JSON array with one file per line, sorted by name.
enum FileIndex {
    static let file = "index.json"
    /// A list of the files that an export may write or remove. It remains if the export is killed.
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

    /// Parses a line without a dictionary, because comparing untrusted keys can take minutes.
    init?(_ text: some Collection<UInt8>) {
        var rest = Array(text)[...]
        // The bytes before each key: none before the first, then the values of the first four.
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
        line.set("name", exactly: name)
        line.set("url", exactly: url)
        line.set("file", exactly: file)
        line.set([
            "bytes": size, "digest": "\(digest)", "media_type": mediaType, "width": width,
            "height": height,
        ])
        return line.text
    }
}
