import Foundation
import LarderCache

struct ImageSets: ExportedFiles {
    let writer: ExportWriter
    private var folder: FileDescriptor { writer.folder }

    func begin(_ list: ExportList) {}

    func location(of rendition: Rendition, _ stem: String) -> (FileDescriptor, String)? {
        guard let set = try? folder.directory(stem + ImageSet.suffix) else { return nil }
        return (set, rendition.file(stem))
    }

    func place(_ renditions: [Rendition], _ stem: String) throws -> [PlacedFile] {
        // A small icon has the same bytes at several scales, and a set may omit scales.
        var icon: [Rendition] = []
        for file in renditions where file.digest != icon.last?.digest { icon.append(file) }
        let name = stem + ImageSet.suffix
        let set: FileDescriptor
        do throws(CacheError) {
            set = try folder.directory(name, create: true)
        } catch {
            guard [ENOTDIR, ELOOP, EACCES].contains(error.errno) else { throw error }
            throw CacheError(.obstructed, subject: name, message: "is not a readable directory")
        }
        let isOld = try holdsImage(set)
        guard try isOld || isUnfinished(set, stem) else {
            throw CacheError(
                .obstructed, subject: name, message: "is an image set not created by larder")
        }
        let files = icon.map { $0.file(stem) }
        // The description marks the set as Larder's, so a new set gets it before its images. In an
        // existing set, it is written after the images, so that it names no missing image.
        if !isOld { try describe(icon, stem, in: set) }
        let placed: [PlacedFile] = try zip(icon, files).map { rendition, file in
            (try writer.place(rendition, as: file, in: set), rendition.size)
        }
        if isOld { try describe(icon, stem, in: set) }
        for other in try set.names() where ImageSet.isImage(other, of: stem) {
            // If the file system ignores case, a name in another spelling can be the same file.
            let isWanted = try files.contains { file in
                try SafeName.folded(other).isSame(as: SafeName.folded(file))
                    && (other.isSame(as: file) || set.ignoresCase(of: other))
            }
            if !isWanted { try writer.removeIfPermitted(other, in: set) }
        }
        return placed
    }

    private func describe(_ icon: [Rendition], _ stem: String, in set: FileDescriptor) throws {
        let contents = ImageSet.contents(
            of: icon.map { ($0.file(stem), $0.scale) }, mediaType: icon.first?.mediaType)
        try writer.write(Array(contents.utf8), as: ImageSet.contentsFile, in: set)
    }

    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws {
        // An existing description is kept, because Xcode may have written it.
        if try folder.status(of: ImageSet.contentsFile) == nil {
            try writer.write(Array(ImageSet.contents().utf8), as: ImageSet.contentsFile)
        }
        guard prune else { return }
        try folder.forEachEntry {
            try writer.checkCancellation()
            if try remove($0, unlessIn: list) { report.pruned += 1 }
        }
    }

    private func remove(_ name: String, unlessIn list: ExportList) throws -> Bool {
        let stem = String(decoding: name.utf8.dropLast(ImageSet.suffix.utf8.count), as: UTF8.self)
        guard name.isSame(as: stem + ImageSet.suffix), try !list.has(stem),
            try folder.status(of: name)?.isDirectory == true
        else { return false }
        if try list.hasEquivalent(stem), try folder.ignoresCase(of: name) { return false }
        // Sets that belong to other users and cannot be read are kept.
        guard let set = try? folder.directory(name), try holdsImage(set) || isUnfinished(set, stem)
        else { return false }
        // Sets with foreign files are kept.
        let names = try set.names().filter { !$0.isSame(as: ImageSet.contentsFile) }
        guard try names.allSatisfy({ try isFile($0, of: stem, in: set) }) else { return false }
        // The description marks the set as Larder's, so it is removed last.
        for file in names { try writer.removeIfPermitted(file, in: set) }
        try writer.removeIfPermitted(ImageSet.contentsFile, in: set)
        return unlinkat(folder.raw, name, AT_REMOVEDIR) == 0
    }

    private func holdsImage(_ set: FileDescriptor) throws -> Bool {
        guard let status = try set.status(of: ImageSet.contentsFile), status.isRegularFile,
            status.st_size <= ImageSet.longestContents,
            let contents = try? set.file(ImageSet.contentsFile)
        else { return false }
        return ImageSet.isOwn(try contents.read(atMost: ImageSet.longestContents))
    }

    /// Whether a set is empty or contains only exported images, as after a killed export.
    private func isUnfinished(_ set: FileDescriptor, _ stem: String) throws -> Bool {
        try set.names().allSatisfy { try isFile($0, of: stem, in: set) }
    }

    private func isFile(_ name: String, of stem: String, in set: FileDescriptor) throws -> Bool {
        try ImageSet.isImage(name, of: stem) && set.status(of: name)?.isRegularFile == true
    }
}
