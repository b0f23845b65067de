import Foundation
import LarderCache
import LarderCore
import LarderManifest

/// An export of a cache, or of manifests' icons, in another program's layout.
package struct Exporter {
    private let cache: Cache
    private let configuration: ExportConfiguration
    private let isCancelled: () -> Bool
    private let onProgress: (ObjectProgress) -> Void

    /// - Parameter isCancelled: Polled regularly. A cancelled export keeps the finished files.
    package init(
        _ cache: Cache, _ configuration: ExportConfiguration,
        isCancelled: @escaping () -> Bool = { false },
        onProgress: @escaping (ObjectProgress) -> Void = { _ in }
    ) {
        (self.cache, self.configuration) = (cache, configuration)
        (self.isCancelled, self.onProgress) = (isCancelled, onProgress)
    }

    package func export(_ manifests: [ManifestSource]?) throws -> ExportReport {
        let start = ContinuousClock.now
        let library = configuration.layout.library(in: configuration.folder)
        let program = try configuration.resize.map { _ in
            try ResizeProgram(path: configuration.programs, seconds: configuration.resizeSeconds)
        }
        return try CacheError.naming("the list of exported icons") {
            let writer = try ExportWriter(
                configuration.directory, folders: library?.folders ?? [], cache: cache,
                mayShare: !configuration.copiesAll, modified: library?.modified,
                isCancelled: isCancelled)
            var report = ExportReport(layout: configuration.layout, directory: writer.path)
            if configuration.layout == .gallery {
                try exportGallery(manifests, writer, &report)
            } else {
                var resize = configuration.resize
                if library != nil, let all = resize {
                    // A library stores one file for each icon, so only the largest image is made.
                    resize = Resize(points: all.points * (all.scales.last ?? 1), scales: [1])
                }
                let renditions = try Renditions(resize, with: program, writer)
                try export(manifests, library, writer, renditions, &report)
            }
            report.isInterrupted = isCancelled()
            report.seconds = (ContinuousClock.now - start) / .seconds(1)
            return report
        }
    }

    private func export(
        _ manifests: [ManifestSource]?, _ library: KeyedLayout?, _ writer: ExportWriter,
        _ renditions: Renditions, _ report: inout ExportReport
    ) throws {
        let list = try ExportList(cache, library, report, isCancelled: isCancelled)
        do {
            if let manifests {
                try list.add(manifests, rules: configuration.manifestRules)
            } else {
                try list.addAll()
            }
            report = list.report
            let files: any ExportedFiles =
                if let library {
                    try KeyedFiles(library, writer)
                } else if configuration.layout == .assetCatalog {
                    ImageSets(writer: writer)
                } else {
                    try NamedFiles(writer, renditions)
                }
            try files.begin(list)
            try place(list, files, renditions, &report)
            if !isCancelled() {
                try files.finish(list, prune: mayPrune(report), &report)
                try renditions.finish(prune: mayPrune(report))
            }
            try writer.flush()
        } catch is CancellationError { report.icons = list.report.icons }
    }

    /// Whether unlisted files may be removed. Entries that could not be read may need them.
    private func mayPrune(_ report: ExportReport) -> Bool {
        configuration.isPruning && report.problems.counts[.badEntry] == nil
    }

    private func exportGallery(
        _ manifests: [ManifestSource]?, _ writer: ExportWriter, _ report: inout ExportReport
    ) throws {
        let files = try GalleryFiles(writer, report: report)
        do {
            let gallery = Gallery(
                of: cache, manifests: manifests ?? [], rules: configuration.manifestRules,
                hasOthers: manifests == nil)
            try files.write(gallery, onProgress: onProgress)
            if mayPrune(files.report), !isCancelled() { try files.removeOthers() }
            try writer.flush()
        } catch is CancellationError {}
        report = files.report
    }

    private func place(
        _ list: ExportList, _ files: any ExportedFiles, _ renditions: Renditions,
        _ report: inout ExportReport
    ) throws {
        let start = ContinuousClock.now
        var progress = ObjectProgress()
        progress.total = report.icons - report.skipped
        var last: (stem: String, digest: Digest)?
        var failure: (code: ExportCode, message: String)?
        func place(_ icon: ExportedIcon) throws {
            if isCancelled() { throw CancellationError() }
            defer {
                progress.objects += 1
                progress.bytes += icon.object?.size ?? 0
                progress.seconds = (ContinuousClock.now - start) / .seconds(1)
                onProgress(progress)
            }
            guard let stem = icon.stem, let object = icon.object.map(cache.sized) else { return }
            let isAgain = last?.stem.isSame(as: stem) == true
            if isAgain, last?.digest != object.digest {
                return report.problems.note(
                    icon.failure(
                        .ambiguous, "another icon has the same file name but different bytes"))
            }
            if !isAgain {
                last = (stem, object.digest)
                failure = nil
                do {
                    report.note(try files.place(renditions.all(object), stem))
                } catch let error as CacheError {
                    failure = try cache.exportFailure(of: error, object)
                } catch let error as ResizeError { failure = (.notResized, error.description) }
            }
            if let (code, message) = failure {
                report.problems.note(icon.failure(code, message))
            } else if isAgain {
                report.duplicates += 1
            }
        }
        try list.forEachPage { page in
            for first in stride(from: 0, to: page.count, by: renditions.batch) {
                let icons = page[first...].prefix(renditions.batch)
                try renditions.make(icons, for: files)
                try icons.forEach(place)
            }
        }
    }
}

extension Expectation {
    func failure(of object: StoredObject) -> (code: ExportCode, message: String)? {
        mismatch(digest: object.digest, size: object.size).map { code, message in
            (ExportCode(rawValue: code) ?? .corrupt, "the cache has different bytes: \(message)")
        }
    }
}

extension Cache {
    /// Reads manifests. A manifest at a URL comes from this cache. Throws if the entries of one are
    /// not recognised.
    func forEachItem(
        of manifests: [ManifestSource], _ rules: ManifestRules, unless isCancelled: () -> Bool,
        _ body: (_ manifest: Int, _ item: ManifestItem) throws -> Void
    ) throws {
        for (number, manifest) in manifests.enumerated() {
            let source = manifest.cached { try self.manifest($0)?.file }
            let reader = ManifestReader(source: source, rules: rules)
            let summary = try reader.read(unless: isCancelled) { try body(number, $0) }
            if let refusal = summary.refusal(of: source) { throw refusal }
        }
    }

    /// Returns an icon's failure, or throws an error that concerns the whole export.
    func exportFailure(
        of error: CacheError, _ object: StoredObject
    ) throws -> (code: ExportCode, message: String) {
        let located = error.located(inCacheAt: path)
        switch error.code {
        case .corrupt:
            return (try self.object(object.digest) == nil ? .missing : .corrupt, error.message)
        case .obstructed where !error.isSparse: return (.obstructed, error.message)
        // The name belongs to a directory or another user's file.
        case _ where [EISDIR, ENOTEMPTY, ENOTDIR, EPERM].contains(error.errno):
            return (.obstructed, error.message)
        case _ where error.isSparse || error.isOfObject: return (.unreadable, "\(located)")
        default: throw located
        }
    }
}

package struct ExportConfiguration: Sendable {
    package var layout: ExportLayout
    package var directory: String
    package var folder: String?
    package var isPruning = false
    package var copiesAll = false
    package var manifestRules = ManifestRules()
    package var resize: Resize?
    package var programs = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    package var resizeSeconds = 30

    package init(layout: ExportLayout, directory: String) {
        (self.layout, self.directory) = (layout, directory)
    }
}

package struct ExportReport: Sendable {
    package var layout: ExportLayout
    package let directory: String
    package internal(set) var icons = 0
    var placements: [Placement: Int] = [:]
    package internal(set) var duplicates = 0
    package internal(set) var bytes: Int64 = 0
    package internal(set) var pruned = 0
    package internal(set) var problems = ItemFailures<ExportCode>()
    package internal(set) var isInterrupted = false
    package internal(set) var seconds: Double = 0

    package var linked: Int { placements[.linked, default: 0] }
    package var cloned: Int { placements[.cloned, default: 0] }
    package var copied: Int { placements[.copied, default: 0] }
    package var resized: Int { placements[.resized, default: 0] }
    package var unchanged: Int { placements[.unchanged, default: 0] }
    package var skipped: Int { problems.skipped }
    package var failed: Int { problems.failed }
    package var unfinished: Int {
        icons - placements.values.reduce(0, +) - duplicates - skipped - failed
    }

    /// Counts an icon under the highest ``Placement`` of its files.
    mutating func note(_ files: [PlacedFile]) {
        for file in files where file.placement != .unchanged { bytes += file.size }
        placements[files.map { $0.placement }.max() ?? .unchanged, default: 0] += 1
    }
}

enum Placement: Comparable { case unchanged, linked, cloned, copied, resized }

typealias PlacedFile = (placement: Placement, size: Int64)

protocol ExportedFiles {
    func begin(_ list: ExportList) throws
    func place(_ icon: [Rendition], _ stem: String) throws -> [PlacedFile]
    func location(of rendition: Rendition, _ stem: String) -> (FileDescriptor, String)?

    /// Writes the layout's index file. With `prune`, removes the files of icons not in `list`.
    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws
}

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
