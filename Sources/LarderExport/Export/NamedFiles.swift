import LarderCache
import LarderKit

/// Files with names for people, all in one directory, and `index.json`, which lists them.
struct NamedFiles: ExportedFiles {
    private static let pageLimit = 500
    private let tree: ExportTree
    private let writer: ExportWriter

    init(_ tree: ExportTree, _ writer: ExportWriter) {
        self.tree = tree
        self.writer = writer
    }

    private static func file(_ stem: String, _ object: StoredObject) -> String {
        "\(stem).\(ImageFile.suffix(of: object.mediaType))"
    }

    func place(_ object: StoredObject, _ stem: String) throws -> Placement {
        try writer.place(object, as: Self.file(stem, object))
    }

    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws {
        let lines = try FileLines()
        try readEarlier(into: lines)
        try addCurrent(list, to: lines)
        try lines.forEachEarlier { earlier in
            // What has failed keeps its file.
            let isWanted = try !earlier.isReplaced && list.has(earlier.stem)
            if !prune || isWanted, try isThere(earlier.file, earlier.size) {
                try lines.keep(earlier.file)
            }
        }
        try writer.write(as: FileIndex.file) { file in
            var isEmpty = true
            try lines.forEachLine { line in
                try file.write((isEmpty ? "[\n" : ",\n") + line)
                isEmpty = false
            }
            try file.write(isEmpty ? "[]\n" : "\n]\n")
        }
        guard prune else { return }
        // Behind the list, which names none of them any more.
        try lines.forEachEarlier { if try remove($0) { report.pruned += 1 } }
    }

    private func readEarlier(into lines: FileLines) throws {
        var page: [(FileIndex.Line, String)] = []
        try FileIndex(in: tree.folder).forEach { line, text in
            page.append((line, text))
            guard page.count >= Self.pageLimit else { return }
            try lines.addEarlier(page)
            page.removeAll(keepingCapacity: true)
        }
        try lines.addEarlier(page)
    }

    private func addCurrent(_ list: ExportList, to lines: FileLines) throws {
        var page: [FileIndex.Line] = []
        try list.forEach { icon in
            guard let stem = icon.stem, let object = icon.object else { return }
            let file = Self.file(stem, object)
            guard try isThere(file, object.size) else { return }
            page.append(FileIndex.Line(icon, object, file: file))
            guard page.count >= Self.pageLimit else { return }
            try lines.add(page)
            page.removeAll(keepingCapacity: true)
        }
        try lines.add(page)
    }

    private func isThere(_ file: String, _ size: Int64) throws -> Bool {
        guard let status = try tree.folder.status(of: file) else { return false }
        return status.isRegularFile && status.st_size == size
    }

    /// Removes a file if it still is what an export has made: somebody may have put another in its
    /// place.
    private func remove(_ earlier: FileLines.Earlier) throws -> Bool {
        guard try isThere(earlier.file, earlier.size),
            let file = try? tree.folder.file(earlier.file), try file.status().isRegularFile,
            let read = try ObjectReader().digest(file), read.digest == earlier.digest
        else { return false }
        return try writer.remove(earlier.file)
    }
}
