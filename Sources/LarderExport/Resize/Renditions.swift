import Foundation
import LarderCache
import LarderCore

/// The files of each icon of an export: the icon itself, or resized images.
final class Renditions {
    private let resize: Resize?
    private let largestOnly: Bool
    private let writer: ExportWriter
    private let resizer: Resizer?
    private var images: ResizedImages?
    /// The bytes of the images of ``make(_:for:unless:)``.
    private var bytes: [ResizedImage.Source: [UInt8]] = [:]
    private var failures: [ResizedImage.Source: any Error] = [:]

    /// - Parameter largestOnly: Whether to write only the largest size.
    init(
        _ resize: Resize?, with program: ResizeProgram?, largestOnly: Bool, _ writer: ExportWriter
    ) throws {
        self.resize = resize
        self.largestOnly = largestOnly
        self.writer = writer
        resizer = program.map { Resizer(program: $0) }
        images = try program.map { try ResizedImages(recipe: $0.recipe, in: writer.tree.folder) }
    }

    /// The number of icons to pass to ``make(_:for:unless:)``, which keeps their files in memory.
    var batch: Int {
        guard let resize else { return .max }
        let cores = ProcessInfo.processInfo.activeProcessorCount
        return max(cores, 8 * cores / (largestOnly ? 1 : resize.scales.count))
    }

    private func sizes(of object: StoredObject) -> [(scale: Int?, pixels: Int)] {
        resize?.sizes(of: object, largestOnly: largestOnly) ?? []
    }

    private func isSmall(_ object: StoredObject, _ pixels: Int) -> Bool {
        guard let width = object.width, let height = object.height else { return false }
        return max(width, height) <= pixels
    }

    private func rendition(
        of object: StoredObject, _ scale: Int?, _ pixels: Int
    ) -> Rendition? {
        if isSmall(object, pixels) { return Rendition(object, scale: scale) }
        let job = Resizer.Job(object: object, pixels: pixels)
        guard let image = images?[job.source] else { return nil }
        return Rendition(image, job.format, scale: scale, bytes: bytes[job.source])
    }

    /// Without resized images that do not exist yet.
    func known(_ object: StoredObject) -> [Rendition] {
        let sizes = sizes(of: object)
        if sizes.isEmpty { return [Rendition(object)] }
        return sizes.compactMap { rendition(of: object, $0.scale, $0.pixels) }
    }

    /// Throws if one of the files could not be made.
    func all(_ object: StoredObject) throws -> [Rendition] {
        for (_, pixels) in sizes(of: object) {
            let source = ResizedImage.Source(digest: object.digest, pixels: pixels)
            if let failure = failures[source] { throw failure }
            images?[source]?.isUsed = true
        }
        return known(object)
    }

    /// Makes the images that the export does not have yet.
    func make(
        _ icons: some Sequence<(object: StoredObject, stem: String)>, for files: any ExportedFiles,
        unless isCancelled: @escaping () -> Bool
    ) throws {
        guard let resizer else { return }
        bytes.removeAll(keepingCapacity: true)
        var jobs: [Resizer.Job] = []
        var sources: Set<ResizedImage.Source> = []
        for (object, stem) in icons {
            for (scale, pixels) in sizes(of: object) where !isSmall(object, pixels) {
                let job = Resizer.Job(object: object, pixels: pixels)
                if failures[job.source] != nil { continue }
                if let known = rendition(of: object, scale, pixels),
                    let (directory, name) = files.location(of: known, stem),
                    (try? writer.isInPlace(known.digest, known.size, name, directory)) == true
                {
                    continue
                }
                if sources.insert(job.source).inserted { jobs.append(job) }
            }
        }
        let results = resizer.run(jobs, opening: writer.verified, unless: isCancelled)
        for (job, result) in zip(jobs, results) {
            switch result {
            case .success(let made):
                images?[job.source] = made.image
                bytes[job.source] = made.bytes
            case .failure(let error): failures[job.source] = error
            }
        }
        if isCancelled() { throw CancellationError() }
    }

    /// With `prune`, forgets images that are no longer exported.
    func finish(prune: Bool) throws {
        if let images {
            try images.write(with: writer, onlyUsed: prune)
        } else if prune {
            try writer.removeIfPermitted(ResizedImages.file)
        }
    }
}
