import Foundation
import LarderCache

/// The files of a library's cache: all in one directory, each named by its URL.
struct KeyedFiles: ExportedFiles {
    private let layout: any KeyedLayout
    private let tree: ExportTree
    private let writer: ExportWriter

    init(_ layout: any KeyedLayout, _ tree: ExportTree, _ writer: ExportWriter) {
        self.layout = layout
        self.tree = tree
        self.writer = writer
    }

    func place(_ object: StoredObject, _ stem: String) throws -> Placement {
        func writeEmptyFiles() throws {
            for name in layout.journal?.emptyFiles(stem) ?? [] { try writer.write([], as: name) }
        }
        // Before the bytes, lest what an app has noted of the old ones be taken for these'.
        let placement = try writer.place(object, as: layout.file(stem), before: writeEmptyFiles)
        if placement == .unchanged { try writeEmptyFiles() }
        return placement
    }

    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws {
        if let journal = layout.journal {
            try writeJournal(journal, of: list, leavingOutOthers: prune)
        }
        // Behind the journal: until it is replaced, the old one may name them.
        if prune { report.pruned = try removeOthers(than: list) }
    }

    private func removeOthers(than list: ExportList) throws -> Int {
        var removed = 0
        try forEachFile { name, stem in
            guard try !list.has(stem), try tree.folder.status(of: name)?.isDirectory == false,
                try writer.remove(name)
            else { return }
            // Of several files of an icon, one counts.
            if name.isSame(as: layout.file(stem)) { removed += 1 }
        }
        return removed
    }

    /// Lists what is there: what was exported now, and earlier, and what an app has stored since.
    private func writeJournal(
        _ journal: JournalForm, of list: ExportList, leavingOutOthers: Bool
    ) throws {
        var page: [(stem: String, sizes: String)] = []
        try forEachFile { name, stem in
            guard name.isSame(as: journal.dataFile(stem)),
                try !leavingOutOthers || list.has(stem)
            else { return }
            var sizes = ""
            for file in journal.files(stem) {
                guard let status = try tree.folder.status(of: file), status.isRegularFile else {
                    return
                }
                sizes += " \(status.st_size)"
            }
            page.append((stem, sizes))
            guard page.count >= 500 else { return }
            try list.addFound(page)
            page.removeAll(keepingCapacity: true)
        }
        try list.addFound(page)
        try writer.write(as: JournalForm.file) { file in
            try file.write(journal.header)
            try list.forEachFound { try file.write(journal.line($0, sizes: $1)) }
        }
    }

    private func forEachFile(_ body: (_ name: String, _ stem: String) throws -> Void) throws {
        try tree.forEachName { name in
            try writer.goOn()
            if let stem = layout.stem(ofFile: name) { try body(name, stem) }
        }
    }
}
