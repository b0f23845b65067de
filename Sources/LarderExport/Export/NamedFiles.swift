import LarderCache

struct NamedFiles: ExportedFiles {
    /// The maximum size of a file in bytes. Icons are smaller.
    private static let largestFile: Int64 = 1 << 30

    private let writer: ExportWriter
    private let renditions: Renditions
    private let lines: FileLines
    private var folder: FileDescriptor { writer.folder }

    init(_ writer: ExportWriter, _ renditions: Renditions) throws {
        self.writer = writer
        self.renditions = renditions
        lines = try FileLines()
    }

    func location(of rendition: Rendition, _ stem: String) -> (FileDescriptor, String)? {
        (folder, rendition.file(stem))
    }

    func place(_ icon: [Rendition], _ stem: String) throws -> [PlacedFile] {
        try icon.map { (try writer.place($0, as: $0.file(stem)), $0.size) }
    }

    func begin(_ list: ExportList) throws {
        for (name, arePending) in [(FileIndex.file, false), (FileIndex.pendingFile, true)] {
            try FileIndex(directory: folder, name: name).forEachPage(writer.checkCancellation) {
                try lines.addEarlier($0, arePending: arePending)
            }
        }
        try forEachPage(of: list, onlyExisting: false) {
            try lines.addEarlier($0.map { ($0, $0.json) }, arePending: true)
        }
        try writePending()
    }

    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws {
        try forEachPage(of: list, onlyExisting: true) { try lines.add($0) }
        try lines.forEachEarlier { earlier in
            try writer.checkCancellation()
            // The files of failed icons are kept.
            if try !prune || isWanted(earlier, list), try isDistinct(earlier),
                try earlier.hasOneDigest || hasBytes(earlier)
            {
                try lines.keep(earlier)
            }
        }
        if prune {
            try lines.forEachEarlier { try lines.makePending($0) }
            try writePending()
        }
        try write(FileIndex.file, lines.forEachLine)
        if prune {
            try lines.forEachEarlier { earlier in
                try writer.checkCancellation()
                if try isDistinct(earlier) && hasBytes(earlier) && writer.remove(earlier.file) {
                    report.pruned += 1
                }
            }
        }
        if try folder.status(of: FileIndex.pendingFile)?.isDirectory == false {
            _ = try writer.remove(FileIndex.pendingFile)
        }
    }

    private func writePending() throws {
        if try lines.hasPending() { try write(FileIndex.pendingFile, lines.forEachPending) }
    }

    private func write(
        _ name: String, _ forEachLine: ((String) throws -> Void) throws -> Void
    ) throws {
        try writer.write(as: name) { file in
            var isEmpty = true
            try forEachLine { line in
                try writer.checkCancellation()
                try file.write((isEmpty ? "[\n" : ",\n") + line)
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

    private func isWanted(_ earlier: FileLines.Earlier, _ list: ExportList) throws -> Bool {
        guard !earlier.isReplaced else { return false }
        return try list.has(earlier.stem)
            || list.hasEquivalent(earlier.stem) && folder.ignoresCase(of: earlier.file)
    }

    /// Whether the file exists and is not a file of this export under a different spelling.
    private func isDistinct(_ earlier: FileLines.Earlier) throws -> Bool {
        try folder.sizeOfFile(earlier.file) == earlier.size
            && !(earlier.isRespelled && folder.ignoresCase(of: earlier.file))
    }

    private func hasBytes(_ earlier: FileLines.Earlier) throws -> Bool {
        guard earlier.size <= Self.largestFile, let file = try? folder.file(earlier.file)
        else { return false }
        let status = try file.status()
        guard status.isRegularFile, status.st_size <= status.plausibleBytes else { return false }
        return try writer.digest(of: file) == earlier.digest
    }
}
