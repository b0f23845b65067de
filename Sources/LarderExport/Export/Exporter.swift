import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest

/// Writes a cache, or the icons that manifests name, in the layout that another program reads. Each
/// object is compared with its digest before its file gets its name. If you run it again, it
/// changes only what has changed. Files whose names are not of the layout are left alone.
package struct Exporter {
    private let cache: Cache
    private let configuration: ExportConfiguration
    private let isCancelled: () -> Bool
    private let onProgress: (ObjectProgress) -> Void

    /// - Parameter isCancelled: Is asked often: true ends the export. Finished files stay.
    package init(
        _ cache: Cache, _ configuration: ExportConfiguration,
        isCancelled: @escaping () -> Bool = { false },
        onProgress: @escaping (ObjectProgress) -> Void = { _ in }
    ) {
        self.cache = cache
        self.configuration = configuration
        self.isCancelled = isCancelled
        self.onProgress = onProgress
    }

    /// Exports the icons of manifests, or all of the cache. Throws ``CacheError`` and
    /// `ManifestError`. Then nothing more is written.
    package func export(_ manifests: [ManifestSource]?) throws -> ExportReport {
        let start = ContinuousClock.now
        let library = configuration.layout.library(in: configuration.folder)
        do {
            let tree = try ExportTree(
                configuration.directory, folders: library?.folders ?? [], outside: cache)
            let mayShare = !configuration.copiesAll
            let writer = try ExportWriter(
                tree, cache: cache, mayLink: mayShare && library?.modified == nil,
                mayClone: mayShare, modified: library?.modified, isCancelled: isCancelled)
            var report = ExportReport(layout: configuration.layout, directory: tree.path)
            if configuration.layout == .gallery {
                try exportGallery(manifests, writer, &report)
            } else {
                try export(manifests, library, writer, &report)
            }
            report.isInterrupted = isCancelled()
            report.seconds = (ContinuousClock.now - start) / .seconds(1)
            return report
        } catch let error as DatabaseError {
            throw CacheError(index: "the list of what is exported", error)
        }
    }

    private func export(
        _ manifests: [ManifestSource]?, _ library: (any KeyedLayout)?, _ writer: ExportWriter,
        _ report: inout ExportReport
    ) throws {
        let list = try ExportList()
        var collection = ExportCollection(
            cache: cache, layout: configuration.layout, library: library, list: list,
            isCancelled: isCancelled, report: report)
        do {
            if let manifests {
                try collection.add(
                    manifests.map { [cache] in $0.cached { try cache.manifest($0)?.file } },
                    rules: configuration.manifestRules)
            } else {
                try collection.addAll()
            }
            if library == nil { try list.nameAll() }
            try list.sort()
            report = collection.report
            let files: any ExportedFiles =
                if let library {
                    try KeyedFiles(library, writer)
                } else if configuration.layout == .assetCatalog {
                    ImageSets(writer: writer)
                } else {
                    try NamedFiles(writer)
                }
            try files.begin(list)
            try place(list, files, &report)
            if !isCancelled() { try files.finish(list, prune: mayPrune(report), &report) }
            try writer.flush()
        } catch is CancellationError {
            report.icons = collection.report.icons
        }
    }

    /// Nothing is pruned if an entry cannot be read, because it may name any file.
    private func mayPrune(_ report: ExportReport) -> Bool {
        configuration.isPruning && report.problems.counts[.badEntry] == nil
    }

    private func exportGallery(
        _ manifests: [ManifestSource]?, _ writer: ExportWriter, _ report: inout ExportReport
    ) throws {
        let files = try GalleryFiles(writer, report: report) { try code(of: $0, $1) }
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
        _ list: ExportList, _ files: any ExportedFiles, _ report: inout ExportReport
    ) throws {
        let start = ContinuousClock.now
        var progress = ObjectProgress()
        progress.total = report.icons - report.skipped
        var last: (stem: String, digest: Digest)?
        var failure: (code: ExportCode, message: String)?
        try list.forEach { icon in
            if isCancelled() { throw CancellationError() }
            defer {
                progress.objects += 1
                progress.bytes += icon.object?.size ?? 0
                progress.seconds = (ContinuousClock.now - start) / .seconds(1)
                onProgress(progress)
            }
            guard let stem = icon.stem, let object = icon.object.map(cache.sized) else { return }
            if let last, last.stem.isSame(as: stem) {
                if last.digest != object.digest {
                    report.problems.note(
                        icon.failure(.ambiguous, "another icon has the same name, and other bytes"))
                } else if let (code, message) = failure {
                    report.problems.note(icon.failure(code, message))
                } else {
                    report.duplicates += 1
                }
                return
            }
            last = (stem, object.digest)
            failure = nil
            do {
                report.note(try files.place(object, stem), bytes: object.size)
            } catch let error as CacheError {
                let code = try code(of: error, object)
                failure = (code, error.message)
                report.problems.note(icon.failure(code, error.message))
            }
        }
    }

    /// Returns why one icon has failed. An error that would fail the others, too, is thrown again.
    private func code(of error: CacheError, _ object: StoredObject) throws -> ExportCode {
        switch error.code {
        case .corrupt: try cache.object(object.digest) == nil ? .missing : .corrupt
        case .obstructed where error.isSparse: .unreadable
        case .obstructed: .obstructed
        // A file of another user is in its place.
        case _ where [EISDIR, ENOTEMPTY, ENOTDIR, EPERM].contains(error.errno): .obstructed
        // Of the cache's own file; one that cannot be written stops everything.
        case _ where error.isOfObject: .unreadable
        default: throw error
        }
    }
}

package struct ExportConfiguration: Sendable {
    package var layout: ExportLayout
    /// The directory that gets the layout's own one. It is made if it does not exist.
    package var directory: String
    /// The name of the library's directory (``ExportLayout/isFolder(_:)``). Default: nil, its own.
    package var folder: String?
    /// Whether files of icons that are no longer exported are removed. Default: false.
    package var isPruning = false
    /// Whether every file is a copy, even if it could be a clone or a hard link. Default: false.
    package var copiesAll = false
    package var manifestRules = ManifestRules()

    package init(layout: ExportLayout, directory: String) {
        self.layout = layout
        self.directory = directory
    }
}
