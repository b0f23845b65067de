import LarderCache
import LarderCore

final class GalleryFiles: GalleryPlace {
    let objects = "objects/"
    var report: ExportReport
    private let writer: ExportWriter
    private let images: FileDescriptor
    private let parts: FileDescriptor
    private var placed: Set<Digest> = []
    private var failure: (code: ExportCode, message: String)?
    private var failed: Set<Digest> = []
    private var written: Set<String> = []  // text: ASCII

    init(_ writer: ExportWriter, report: ExportReport) throws {
        (self.writer, self.report) = (writer, report)
        images = try writer.folder.folder("objects")
        parts = try writer.folder.folder("gallery")
    }

    func write(_ gallery: Gallery, onProgress: @escaping (ObjectProgress) -> Void) throws {
        let start = ContinuousClock.now
        var progress = ObjectProgress()
        try gallery.write(to: self) { item in
            try writer.checkCancellation()
            note(item)
            guard item.icon != nil else { return }
            progress.objects += 1
            progress.bytes += item.resource?.object.size ?? 0
            progress.seconds = (ContinuousClock.now - start) / .seconds(1)
            onProgress(progress)
        }
        for file in GalleryFile.page { try write(file) }
    }

    private func note(_ item: GalleryItem) {
        report.icons += 1
        guard var problem = item.failure else { return }
        if problem.code == .corrupt, let failure, failure.code != .corrupt {
            problem = ExportFailure(
                failure.code, name: problem.name, url: problem.url, failure.message)
        }
        report.problems.note(problem)
    }

    func address(of object: StoredObject) throws -> String? {
        let name = "\(object.digest.hex).\(ImageFile.suffix(of: object.mediaType))"
        if placed.contains(object.digest) {
            report.duplicates += 1
            return name
        }
        failure = nil
        let object = writer.cache.sized(object)
        do {
            let placement = try writer.place(Rendition(object), as: name, in: images)
            // Verifies the cached object too, because the page reports damage.
            if placement == .unchanged { try writer.confirm(object, unlessIn: images, name) }
            report.note([(placement, object.size)])
        } catch let error as CacheError {
            failure = try writer.cache.exportFailure(of: error, object)
            failed.insert(object.digest)
            return nil
        }
        placed.insert(object.digest)
        return name
    }

    func write(_ file: GalleryFile) throws {
        let name = file.path.lastName
        let isPart = name.utf8.count < file.path.utf8.count
        try writer.write(file.bytes, as: name, in: isPart ? parts : nil)
        if isPart { written.insert(name) }
    }

    func removeOthers() throws {
        try images.forEachEntry { name in
            try writer.checkCancellation()
            let stem = PathExtension.without(name)
            guard ImageFile.isSuffix(PathExtension.ofText(name)), let digest = Digest(hex: stem),
                stem.isSame(as: digest.hex), !placed.contains(digest), !failed.contains(digest)
            else { return }
            if try remove(name, in: images) { report.pruned += 1 }
        }
        try parts.forEachEntry { name in
            try writer.checkCancellation()
            let isPart = name.wholeMatch(of: /icons-[0-9]+\.js/) != nil
            guard isPart, !written.contains(name) else { return }
            _ = try remove(name, in: parts)
        }
    }

    private func remove(_ name: String, in directory: FileDescriptor) throws -> Bool {
        try directory.status(of: name)?.isRegularFile == true && writer.remove(name, in: directory)
    }
}
