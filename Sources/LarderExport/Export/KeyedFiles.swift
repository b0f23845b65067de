import Foundation
import GRDB
import LarderCache

final class KeyedFiles: ExportedFiles {
    private let layout: KeyedLayout
    private let writer: ExportWriter
    private var folder: FileDescriptor { writer.folder }
    private let journal: Journal?

    init(_ layout: KeyedLayout, _ writer: ExportWriter) throws {
        (self.layout, self.writer) = (layout, writer)
        journal = try layout.journal.map(Journal.init)
    }

    /// Removes unfinished entries. Otherwise, the library would also remove files of this export.
    func begin(_ list: ExportList) throws {
        guard let journal else { return }
        try journal.read(in: folder, writer.checkCancellation)
        try journal.database.forEachRow("SELECT key FROM entries WHERE is_dirty") {
            try writer.checkCancellation()
            for file in journal.form.files(try $0.requireText()) {
                // The library first writes to a `.tmp` file.
                for name in [file, file + ".tmp"] { try writer.removeIfPermitted(name) }
            }
        }
        try journal.database.execute("DELETE FROM entries WHERE is_dirty")
    }

    func location(of rendition: Rendition, _ stem: String) -> (FileDescriptor, String)? {
        (folder, layout.file(stem))
    }

    func place(_ icon: [Rendition], _ stem: String) throws -> [PlacedFile] {
        precondition(icon.count == 1, "a URL with several files")
        func writeEmptyFiles() throws {
            for name in layout.journal?.emptyFiles(stem) ?? [] { try writer.write([], as: name) }
        }
        // Empties the metadata first, because old metadata must not apply to new bytes.
        let placement = try writer.place(icon[0], as: layout.file(stem), before: writeEmptyFiles)
        if placement == .unchanged { try writeEmptyFiles() }
        try journal?.add(stem, size: icon[0].size)
        return [(placement, icon[0].size)]
    }

    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws {
        // Writes a journal of the entries whose files exist. The library ignores unlisted files.
        if let journal {
            try writer.write(as: JournalForm.file) { file in
                try file.write(journal.form.header)
                try journal.database.forEachRow(
                    "SELECT key, sizes FROM entries WHERE sizes IS NOT NULL ORDER BY place"
                ) { row in
                    try writer.checkCancellation()
                    let (stem, sizes) = (try row.requireText(), try row.requireText())
                    for name in journal.form.files(stem) {
                        guard try folder.sizeOfFile(name) != nil else { return }
                    }
                    // Files with names of other layouts are kept, so their entries are kept too.
                    let isOther = try prune && !list.has(stem)
                    if isOther, layout.stem(ofFile: layout.file(stem)) != nil { return }
                    try file.write("CLEAN \(stem)\(sizes)\n")
                }
            }
        }
        // Files are removed after the old journal, which may list them, has been replaced.
        guard prune else { return }
        try folder.forEachEntry { name in
            try writer.checkCancellation()
            guard let stem = layout.stem(ofFile: name), try !list.has(stem),
                try folder.status(of: name)?.isDirectory == false, try writer.remove(name)
            else { return }
            if name.isSame(as: layout.file(stem)) { report.pruned += 1 }
        }
    }
}

/// The journal of a DiskLruCache: entries from least to most recently used.
final class Journal {
    /// The maximum size of a line in bytes. Keys have at most 120 bytes.
    private static let longestLine = 1024
    /// The maximum number of lines. The library compacts a journal after 2,000 redundant lines.
    private static let mostLines: Int64 = 4_000_000

    let form: JournalForm
    let database: DatabaseQueue
    private var last: Int64 = 0

    init(_ form: JournalForm) throws {
        self.form = form
        database = try .scratch(
            """
            CREATE TABLE main.entries (
                key TEXT PRIMARY KEY, place INTEGER NOT NULL, sizes TEXT,
                is_dirty INTEGER NOT NULL
            ) WITHOUT ROWID;
            CREATE UNIQUE INDEX main.by_place ON entries (place);
            CREATE INDEX main.dirty ON entries (key) WHERE is_dirty;
            """)
    }

    /// Reads a journal. If the library would reject it, it counts as empty.
    func read(in directory: FileDescriptor, _ checkCancellation: () throws -> Void) throws {
        var name = JournalForm.file
        if try directory.status(of: name) == nil { name = JournalForm.backup }
        guard try directory.status(of: name)?.isRegularFile == true,
            let file = try? directory.file(name), try file.status().isRegularFile
        else { return }
        let header = Array(form.header.utf8)
        guard try file.read(atMost: header.count) == header else { return }
        var rest: [UInt8] = []
        while true {
            try checkCancellation()
            let bytes = try file.read(atMost: 64 << 10)
            // Glide and Coil ignore a last line without a line feed.
            if bytes.isEmpty { return }
            var lines = (rest + bytes).split(
                separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            rest = Array(lines.removeLast())
            var isGood = rest.count <= Self.longestLine
            try database.inTransaction { db in
                isGood = try isGood && lines.allSatisfy { try take($0, db) }
                if !isGood { try db.execute(sql: "DELETE FROM entries") }
                return .commit
            }
            if !isGood {
                last = 0
                return
            }
        }
    }

    private func take(_ line: ArraySlice<UInt8>, _ db: Database) throws -> Bool {
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        // Accepted keys cannot lead to another directory.
        guard line.count <= Self.longestLine, words.count >= 2, last < Self.mostLines,
            (1...120).contains(words[1].count),
            words[1].allSatisfy({ $0.isDigit || 0x61...0x7A ~= $0 || "_-".utf8.contains($0) })
        else { return false }
        last += 1
        let key = String(decoding: words[1], as: UTF8.self)
        func isState(_ state: StaticString, sizes: Int = 0) -> Bool {
            state.withUTF8Buffer { words[0].elementsEqual($0) } && words.count == 2 + sizes
        }
        if isState("REMOVE") {
            try db.prepared("DELETE FROM entries WHERE key = ?").run(key)
            return true
        }
        let isClean =
            isState("CLEAN", sizes: form.valueCount)
            && words[2...].allSatisfy { (1...18).contains($0.count) && $0.allSatisfy(\.isDigit) }
        let isDirty = isState("DIRTY")
        guard isClean || isDirty || isState("READ") else { return false }
        // READ changes only the position. DIRTY keeps the sizes, because the old files still exist.
        try db.prepared(
            """
            INSERT INTO entries VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET
                place = excluded.place, sizes = coalesce(excluded.sizes, sizes),
                is_dirty = excluded.is_dirty OR is_dirty AND excluded.sizes IS NULL
            """
        ).run(
            key, last,
            isClean ? words[2...].map { " " + String(decoding: $0, as: UTF8.self) }.joined() : nil,
            isDirty)
        return true
    }

    /// Adds a complete entry. An existing one keeps its position. `size` is the last file's size.
    func add(_ stem: String, size: Int64) throws {
        last += 1
        let sizes = String(repeating: " 0", count: form.valueCount - 1) + " \(size)"
        try database.writeWithoutTransaction { db in
            try db.prepared(
                """
                INSERT INTO entries VALUES (?, ?, ?, 0) ON CONFLICT (key)
                DO UPDATE SET sizes = excluded.sizes, is_dirty = 0
                """
            ).run(stem, last, sizes)
        }
    }
}
