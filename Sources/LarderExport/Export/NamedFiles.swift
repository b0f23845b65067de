import LarderCache

/// Files with names for people, all in one directory, and `index.json`, which lists them.
///
/// Until that is written, and until what it no longer lists is removed, a second list has what it
/// lacks: the next export knows the files of one that was killed.
struct NamedFiles: ExportedFiles {
    private static let pageLimit = 500
    /// No icon is larger: a file that is would keep a reader busy for nothing.
    private static let largestFile: Int64 = 1 << 30

    private let tree: ExportTree
    private let writer: ExportWriter
    private let lines: FileLines

    init(_ tree: ExportTree, _ writer: ExportWriter) throws {
        self.tree = tree
        self.writer = writer
        lines = try FileLines()
    }

    private static func file(_ stem: String, _ object: StoredObject) -> String {
        "\(stem).\(ImageFile.suffix(of: object.mediaType))"
    }

    func place(_ object: StoredObject, _ stem: String) throws -> Placement {
        try writer.place(object, as: Self.file(stem, object))
    }

    // MARK: - Before

    func begin(_ list: ExportList) throws {
        try readEarlier(FileIndex.file, arePending: false)
        try readEarlier(FileIndex.pendingFile, arePending: true)
        try forEachPage(of: list, isThere: false) { try lines.addPending($0) }
        try writePending()
    }

    private func readEarlier(_ file: String, arePending: Bool) throws {
        var page: [(FileIndex.Line, String)] = []
        try FileIndex(in: tree.folder, file).forEach(writer.goOn) { line, text in
            page.append((line, text))
            guard page.count >= Self.pageLimit else { return }
            try lines.addEarlier(page, arePending: arePending)
            page.removeAll(keepingCapacity: true)
        }
        try lines.addEarlier(page, arePending: arePending)
    }

    private func writePending() throws {
        if try lines.hasPending { try write(FileIndex.pendingFile, lines.forEachPending) }
    }

    private func write(
        _ name: String, _ forEachLine: ((String) throws -> Void) throws -> Void
    ) throws {
        try writer.write(as: name) { file in
            var isEmpty = true
            try forEachLine { line in
                try writer.goOn()
                try file.write((isEmpty ? "[\n" : ",\n") + line)
                isEmpty = false
            }
            try file.write(isEmpty ? "[]\n" : "\n]\n")
        }
    }

    // MARK: - Behind

    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws {
        try forEachPage(of: list, isThere: true) { try lines.add($0) }
        try lines.forEachEarlier { earlier in
            try writer.goOn()
            // What has failed keeps its file.
            if try !prune || isWanted(earlier, list), try isKept(earlier) {
                try lines.keep(earlier)
            }
        }
        if prune {
            try lines.forEachEarlier { try lines.makePending($0) }
            try writePending()
        }
        try write(FileIndex.file, lines.forEachLine)
        if prune {
            // Behind the list, which names none of them any more.
            try lines.forEachEarlier { earlier in
                try writer.goOn()
                if try remove(earlier) { report.pruned += 1 }
            }
        }
        if try tree.folder.status(of: FileIndex.pendingFile)?.isDirectory == false {
            _ = try writer.remove(FileIndex.pendingFile)
        }
    }

    private func forEachPage(
        of list: ExportList, isThere: Bool, _ body: ([FileIndex.Line]) throws -> Void
    ) throws {
        var page: [FileIndex.Line] = []
        try list.forEach { icon in
            try writer.goOn()
            guard let stem = icon.stem, let object = icon.object else { return }
            let file = Self.file(stem, object)
            if isThere, try !self.isThere(file, object.size) { return }
            page.append(FileIndex.Line(icon, object, file: file))
            guard page.count >= Self.pageLimit else { return }
            try body(page)
            page.removeAll(keepingCapacity: true)
        }
        try body(page)
    }

    private func isWanted(_ earlier: FileLines.Earlier, _ list: ExportList) throws -> Bool {
        guard !earlier.isReplaced else { return false }
        return try list.has(earlier.stem)
            || list.hasLike(earlier.stem) && tree.folder.mindsNoCase(of: earlier.file)
    }

    private func isThere(_ file: String, _ size: Int64) throws -> Bool {
        try tree.folder.sizeOfFile(file) == size
    }

    /// Whether a file of the last export, which this one has not written, stays in the list.
    private func isKept(_ earlier: FileLines.Earlier) throws -> Bool {
        guard try isThere(earlier.file, earlier.size), try !isCurrent(earlier) else { return false }
        return try earlier.isSure || has(earlier)
    }

    /// Whether it is the file of an icon of this export, in other letters.
    private func isCurrent(_ earlier: FileLines.Earlier) throws -> Bool {
        try earlier.isRespelled && tree.folder.mindsNoCase(of: earlier.file)
    }

    /// Removes a file if it still is what an export has made: somebody may have put another in its
    /// place.
    private func remove(_ earlier: FileLines.Earlier) throws -> Bool {
        guard try isThere(earlier.file, earlier.size), try !isCurrent(earlier), try has(earlier)
        else { return false }
        return try writer.remove(earlier.file)
    }

    private func has(_ earlier: FileLines.Earlier) throws -> Bool {
        guard earlier.size <= Self.largestFile, let file = try? tree.folder.file(earlier.file)
        else { return false }
        let status = try file.status()
        guard status.isRegularFile, status.st_size <= status.plausibleBytes else { return false }
        return try writer.digest(of: file) == earlier.digest
    }
}
