import Foundation
import LarderCache

/// An asset catalog: the directory itself, with an image set for each icon.
struct ImageSets: ExportedFiles {
    private let tree: ExportTree
    private let writer: ExportWriter

    init(_ tree: ExportTree, _ writer: ExportWriter) {
        self.tree = tree
        self.writer = writer
    }

    func place(_ object: StoredObject, _ stem: String) throws -> Placement {
        let name = stem + ImageSet.suffix
        let isNew = try tree.folder.status(of: name) == nil
        let set = try directory(name)
        let earlier = isNew ? nil : try image(in: set)
        guard try isNew || earlier != nil || set.names().isEmpty else {
            throw CacheError(
                .obstructed, subject: name, message: "is an image set that larder has not made")
        }
        let file = "\(stem).\(ImageFile.suffix(of: object.mediaType))"
        let placement = try writer.place(object, as: file, in: set)
        // Behind the image that it names.
        try writer.write(
            Array(ImageSet.contents(of: file, mediaType: object.mediaType).utf8),
            as: ImageSet.contentsFile, in: set)
        if let earlier, !earlier.isSame(as: file) { _ = try writer.remove(earlier, in: set) }
        return placement
    }

    private func directory(_ name: String) throws(CacheError) -> FileDescriptor {
        do throws(CacheError) {
            return try tree.folder.directory(name, create: true)
        } catch  where [ENOTDIR, ELOOP].contains(error.errno) {
            throw CacheError(.obstructed, subject: name, message: "is not a directory")
        }
    }

    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws {
        // Xcode's own stays.
        if try tree.folder.status(of: ImageSet.contentsFile) == nil {
            try writer.write(
                Array(ImageSet.catalogContents.utf8), as: ImageSet.contentsFile)
        }
        guard prune else { return }
        try tree.forEachName { if try remove($0, unlessIn: list) { report.pruned += 1 } }
    }

    /// Removes an image set of no icon in the list, if an export has made it.
    private func remove(_ name: String, unlessIn list: ExportList) throws -> Bool {
        let stem = String(
            decoding: name.utf8.dropLast(ImageSet.suffix.utf8.count), as: UTF8.self)
        guard name.isSame(as: stem + ImageSet.suffix), try !list.has(stem),
            try tree.folder.status(of: name)?.isDirectory == true
        else { return false }
        let set = try tree.folder.directory(name)
        guard let image = try image(in: set) else { return false }
        // With something of somebody else's in it, it stays.
        guard
            try set.names().allSatisfy({
                $0.isSame(as: ImageSet.contentsFile) || $0.isSame(as: image)
            })
        else { return false }
        // The description at last: what is left without it would be nobody's.
        _ = try writer.remove(image, in: set)
        _ = try writer.remove(ImageSet.contentsFile, in: set)
        return unlinkat(tree.folder.raw, name, AT_REMOVEDIR) == 0
    }

    /// The image of a set that an export has made; nil of any other.
    private func image(in set: FileDescriptor) throws -> String? {
        guard let status = try set.status(of: ImageSet.contentsFile), status.isRegularFile,
            status.st_size <= ImageSet.longestContents
        else { return nil }
        return ImageSet.image(
            in: try set.file(ImageSet.contentsFile).read(atMost: ImageSet.longestContents))
    }
}
