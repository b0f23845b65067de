import Foundation
import GRDB
import LarderCache

final class KeyedFiles: ExportedFiles {
    private let layout: KeyedLayout
    private let writer: ExportWriter
    private var folder: FileDescriptor { writer.folder }
    private let journal: Journal?
    private var entries: [(stem: String, size: Int64)] = []

    init(_ layout: KeyedLayout, _ writer: ExportWriter) throws {
        self.layout = layout
        self.writer = writer
        journal = try layout.journal.map(Journal.init)
    }

    /// Removes unfinished entries, which the library would remove with files of this export.
    func begin(_ list: ExportList) throws {
        guard let journal else { return }
        try journal.read(in: folder, writer.checkCancellation)
        try journal.dropDirty { stem in
            try writer.checkCancellation()
            for file in journal.form.files(stem) {
                // The library first writes to a `.tmp` file.
                for name in [file, file + ".tmp"] { try writer.removeIfPermitted(name) }
            }
        }
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
        entries.append((stem, icon[0].size))
        if entries.count >= DatabaseQueue.pageLimit { try noteEntries() }
        return [(placement, icon[0].size)]
    }

    private func noteEntries() throws {
        try journal?.add(entries)
        entries.removeAll(keepingCapacity: true)
    }

    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws {
        try noteEntries()
        // Writes a journal of the entries whose files exist. The library ignores unlisted files.
        if let journal {
            try writer.write(as: JournalForm.file) { file in
                try file.write(journal.form.header)
                try journal.forEach { stem, sizes in
                    try writer.checkCancellation()
                    for name in journal.form.files(stem) {
                        guard try folder.sizeOfFile(name) != nil else { return }
                    }
                    // Files whose names are not of the layout stay, so their entries do, too.
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
