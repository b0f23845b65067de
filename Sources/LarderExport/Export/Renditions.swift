import Foundation
import LarderCache
import LarderCore
import LarderImages

/// The files of each icon of an export: the icon itself, or resized images.
final class Renditions {
    private let resize: Resize?
    private let largestOnly: Bool
    private let writer: ExportWriter
    private let resizer: Resizer?
    private var list: ResizedImages?
    /// The bytes of the images that the latest call of ``make(_:for:unless:)`` made.
    private var bytes: [ResizedImage.Source: [UInt8]] = [:]
    private var failures: [Digest: any Error] = [:]

    init(
        _ resize: Resize?, with program: ResizeProgram?, largestOnly: Bool, _ writer: ExportWriter
    ) throws {
        self.resize = resize
        self.largestOnly = largestOnly
        self.writer = writer
        resizer = program.map { Resizer(program: $0) }
        list = try program.map { try ResizedImages(recipe: $0.recipe, with: writer) }
    }

    /// The maximum number of icons per call of ``make(_:for:unless:)``, which keeps their images in
    /// memory.
    var batch: Int {
        guard let resize else { return .max }
        let cores = ProcessInfo.processInfo.activeProcessorCount
        return max(cores, 8 * cores / (largestOnly ? 1 : resize.scales.count))
    }

    private func sizes(of object: StoredObject) -> [(scale: Int?, side: Int)] {
        guard list?.images[.unchanged(object.digest)] == nil else { return [] }
        return resize?.sizes(of: object, largestOnly: largestOnly) ?? []
    }

    private func isSmall(_ object: StoredObject, _ side: Int) -> Bool {
        guard let width = object.width, let height = object.height else { return false }
        return max(width, height) <= side
    }

    private func rendition(of object: StoredObject, _ scale: Int?, _ side: Int) -> Rendition? {
        if isSmall(object, side) { return Rendition(object, scale: scale) }
        let source = ResizedImage.Source(digest: object.digest, side: side)
        guard let image = list?.images[source] else { return nil }
        return Rendition(image, Resizer.format(of: object), scale: scale, bytes: bytes[source])
    }

    /// Returns an icon's files, without resized images that do not exist yet.
    func known(_ object: StoredObject) -> [Rendition] {
        let sizes = sizes(of: object)
        if sizes.isEmpty { return [Rendition(object)] }
        return sizes.compactMap { rendition(of: object, $0.scale, $0.side) }
    }

    /// Returns an icon's files. Throws if one of them could not be made.
    func all(_ object: StoredObject) throws -> [Rendition] {
        // Existing files of a failed icon are kept, so they stay in the list.
        for side in [0] + sizes(of: object).map({ $0.side }) {
            list?.images[ResizedImage.Source(digest: object.digest, side: side)]?.isUsed = true
        }
        if let failure = failures[object.digest] { throw failure }
        return known(object)
    }

    func make(
        _ icons: some Sequence<(object: StoredObject, stem: String)>, for files: any ExportedFiles,
        unless isCancelled: @escaping () -> Bool
    ) throws {
        guard let resizer else { return }
        bytes.removeAll(keepingCapacity: true)
        var jobs: [Digest: Resizer.Job] = [:]
        for (object, stem) in icons where failures[object.digest] == nil {
            for (scale, side) in sizes(of: object) where !isSmall(object, side) {
                if let known = rendition(of: object, scale, side),
                    let (directory, name) = files.location(of: known, stem),
                    (try? writer.isInPlace(known, name, directory)) == true
                {
                    continue
                }
                jobs[object.digest, default: .init(object: object)].sides.insert(side)
            }
        }
        let work = Array(jobs.values)
        let results = resizer.run(work, opening: writer.verified, unless: isCancelled)
        for (job, result) in zip(work, results) {
            switch result {
            case .success(let made):
                try list?.add(made)
                for (source, _, content) in made { bytes[source] = content }
            case .failure(let error): failures[job.object.digest] = error
            }
        }
        if isCancelled() { throw CancellationError() }
    }

    /// Writes the list of images. With `prune`, leaves out images that are no longer exported.
    func finish(prune: Bool) throws {
        if let list {
            try list.write(with: writer, onlyUsed: prune)
        } else if prune {
            try writer.removeIfPermitted(ResizedImages.file)
        }
    }
}

/// One file of an exported icon: the icon itself, or the icon in a different size.
struct Rendition {
    /// The scale, if the icon has a file for each scale.
    let scale: Int?
    let digest: Digest
    let size: Int64
    let mediaType: String?
    let width: Int?
    let height: Int?
    /// The cached icon; nil if resized.
    let original: StoredObject?
    /// The bytes of a resized icon that this export has made.
    let bytes: [UInt8]?

    init(_ object: StoredObject, scale: Int? = nil) {
        self.scale = scale
        (digest, size, mediaType) = (object.digest, object.size, object.mediaType)
        (width, height) = (object.width, object.height)
        (original, bytes) = (object, nil)
    }

    init(_ image: ResizedImage, _ type: MediaType, scale: Int?, bytes: [UInt8]?) {
        self.scale = scale
        (digest, size, mediaType) = (image.digest, image.size, type.rawValue)
        (width, height) = (image.width, image.height)
        (original, self.bytes) = (nil, bytes)
    }

    /// Returns the name of the file in a layout with readable names, as UIKit expects it.
    func file(_ stem: String) -> String {
        let mark = scale.map { $0 > 1 ? "@\($0)x" : "" } ?? ""
        return "\(stem)\(mark).\(ImageFile.suffix(of: mediaType))"
    }
}
