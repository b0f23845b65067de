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
        self.writer = writer
        self.renditions = renditions
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
            guard try !prune || isWanted(earlier, list), try isUnchanged(earlier) else { return }
            // With an empty stem, the file does not replace earlier files with its stem.
            try database.run(
                """
                INSERT OR IGNORE INTO current
                SELECT file, folded_file, '', line FROM earlier WHERE file = ? AND digest = ?
                """, for: [earlier]
            ) { [$0.file, $0.digest] }
        }
        if prune {
            try database.writeWithoutTransaction {
                try $0.execute(
                    sql: """
                        UPDATE earlier SET is_pending = 1
                        WHERE file NOT IN (SELECT file FROM current)
                        """)
            }
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

    /// A file of the previous export that the current export has not written.
    private struct Earlier {
        let file: String
        let stem: String
        let digest: Digest
        let size: Int64
        let isReplaced: Bool
        let isRespelled: Bool
    }

    private func forEachEarlier(_ body: (Earlier) throws -> Void) throws {
        try database.forEachPage { (db: Database, last: Earlier?) in
            try db.prepared(
                """
                SELECT file, stem, digest, size,
                    folded_stem IN (SELECT folded_stem FROM current WHERE folded_stem <> ''),
                    folded_file IN (SELECT folded_file FROM current)
                FROM earlier
                WHERE (file, digest) > (?, ?) AND file NOT IN (SELECT file FROM current)
                ORDER BY file, digest LIMIT 256
                """
            ).rows(last?.file ?? "", last?.digest) {
                Earlier(
                    file: try $0.requireText(), stem: try $0.requireText(),
                    digest: try $0.requireDigest(), size: $0.integer(), isReplaced: $0.bool(),
                    isRespelled: $0.bool())
            }
        } _: {
            try $0.forEach(body)
        }
    }

    private func isWanted(_ earlier: Earlier, _ list: ExportList) throws -> Bool {
        guard !earlier.isReplaced else { return false }
        return try list.has(earlier.stem)
            || list.hasEquivalent(earlier.stem) && folder.ignoresCase(of: earlier.file)
    }

    /// Whether the file has the listed bytes and no other spelling in this export.
    private func isUnchanged(_ earlier: Earlier) throws -> Bool {
        guard earlier.size <= Self.largestFile,
            try folder.sizeOfFile(earlier.file) == earlier.size,
            try !(earlier.isRespelled && folder.ignoresCase(of: earlier.file)),
            let file = try? folder.file(earlier.file)
        else { return false }
        let status = try file.status()
        guard status.isRegularFile, status.st_size <= status.plausibleBytes else { return false }
        return try writer.digest(of: file) == earlier.digest
    }
}
