import Foundation
import GRDB
import LarderCache
import LarderCore
import LarderManifest

/// Writes a cache, or what manifests name of it, in the layout that another program reads.
///
/// Each object is compared with its digest before its file gets its name, and each file is there
/// whole or not at all. Run again, it changes only what changed. Files that are not of the layout's
/// own shape are left alone.
public struct Exporter {
    private let cache: Cache
    private let configuration: ExportConfiguration
    private let isCancelled: () -> Bool
    private let onProgress: (ObjectProgress) -> Void

    /// - Parameters:
    ///   - cache: what is exported. It is only read.
    ///   - configuration: how.
    ///   - isCancelled: asked often: true ends it within moments; what was finished is kept.
    ///     Default: never.
    ///   - onProgress: called for each icon. Default: nobody looks.
    public init(
        _ cache: Cache, _ configuration: ExportConfiguration,
        isCancelled: @escaping () -> Bool = { false },
        onProgress: @escaping (ObjectProgress) -> Void = { _ in }
    ) {
        self.cache = cache
        self.configuration = configuration
        self.isCancelled = isCancelled
        self.onProgress = onProgress
    }

    /// Exports.
    ///
    /// - Parameter manifests: whose icons; nil: all of the cache.
    /// - Throws: ``CacheError``, `ManifestError`: then nothing more is written.
    public func export(_ manifests: [ManifestSource]?) throws -> ExportReport {
        do {
            return try run(manifests)
        } catch let error as DatabaseError {
            throw CacheError(index: "the list of what is exported", error)
        }
    }

    private func run(_ manifests: [ManifestSource]?) throws -> ExportReport {
        let start = ContinuousClock.now
        let keyed = configuration.keyed
        let tree = try ExportTree(
            configuration.directory, folders: keyed?.folders ?? [], outside: cache)
        if configuration.layout == .gallery { return try exportGallery(manifests, tree) }
        let list = try ExportList()
        var collection = ExportCollection(
            from: cache, for: configuration.layout, keyed: keyed, into: list,
            report: ExportReport(layout: configuration.layout, directory: tree.path),
            isCancelled: isCancelled)
        var report = collection.report
        do {
            if let manifests {
                try collection.add(
                    manifests.map { [cache] in $0.cached { try cache.manifest($0)?.file } },
                    rules: configuration.manifestRules)
            } else {
                try collection.addAll()
            }
            if keyed == nil { try list.nameAll() }
            try list.sort()
            report = collection.report
            let writer = ExportWriter(
                tree, cache: cache,
                mayLink: !configuration.copiesAll && keyed?.modified == nil,
                mayClone: !configuration.copiesAll, modified: keyed?.modified,
                isCancelled: isCancelled)
            let files = try files(tree, writer, keyed)
            try files.begin(list)
            try place(list, files, &report)
            if !isCancelled() { try files.finish(list, prune: mayPrune(report), &report) }
            try writer.flush()
        } catch is CancellationError {
            report.icons = collection.report.icons
        }
        report.isInterrupted = isCancelled()
        report.seconds = (ContinuousClock.now - start) / .seconds(1)
        return report
    }

    /// Not if it is unknown which files are wanted: an entry that cannot be read, as of a manifest
    /// that was cut off, may want any.
    private func mayPrune(_ report: ExportReport) -> Bool {
        configuration.isPruning && report.problems.counts[.badEntry] == nil
    }

    private func exportGallery(
        _ manifests: [ManifestSource]?, _ tree: ExportTree
    ) throws -> ExportReport {
        let writer = ExportWriter(
            tree, cache: cache, mayLink: !configuration.copiesAll,
            mayClone: !configuration.copiesAll, modified: nil, isCancelled: isCancelled)
        let files = try GalleryFiles(
            tree, writer, report: ExportReport(layout: .gallery, directory: tree.path)
        ) { error, object in try code(of: error, object) }
        let start = ContinuousClock.now
        do {
            let gallery = Gallery(
                of: cache, manifests: manifests ?? [], rules: configuration.manifestRules,
                hasOthers: manifests == nil)
            try files.write(gallery, onProgress: onProgress)
            if mayPrune(files.report), !isCancelled() { try files.removeOthers() }
            try writer.flush()
        } catch is CancellationError {}
        files.report.isInterrupted = isCancelled()
        files.report.seconds = (ContinuousClock.now - start) / .seconds(1)
        return files.report
    }

    private func files(
        _ tree: ExportTree, _ writer: ExportWriter, _ keyed: (any KeyedLayout)?
    ) throws -> any ExportedFiles {
        if let keyed { return try KeyedFiles(keyed, tree, writer) }
        return try configuration.layout == .assetCatalog
            ? ImageSets(tree, writer) : NamedFiles(tree, writer)
    }

    private func place(
        _ list: ExportList, _ files: any ExportedFiles, _ report: inout ExportReport
    ) throws {
        let start = ContinuousClock.now
        var progress = ObjectProgress()
        progress.total = report.icons - report.skipped
        var last: (stem: String, digest: Digest)?
        var failure: (code: ExportReason, message: String)?
        try list.forEach { icon in
            if isCancelled() { throw CancellationError() }
            defer {
                progress.objects += 1
                progress.bytes += icon.object?.size ?? 0
                progress.seconds = (ContinuousClock.now - start) / .seconds(1)
                onProgress(progress)
            }
            guard let stem = icon.stem, let object = icon.object.map(cache.sized) else {
                return
            }
            if let last, last.stem.isSame(as: stem) {
                if last.digest == object.digest {
                    // What has failed for one has for the other.
                    if let (code, message) = failure {
                        report.problems.note(icon.problem(code, message))
                    } else {
                        report.duplicates += 1
                    }
                } else {
                    report.problems.note(
                        icon.problem(
                            .ambiguous, "another icon has the same name, and other bytes"))
                }
                return
            }
            last = (stem, object.digest)
            failure = nil
            do {
                report.note(try files.place(object, stem), bytes: object.size)
            } catch let error as CacheError {
                let reason = try code(of: error, object)
                failure = (reason, error.message)
                report.problems.note(icon.problem(reason, error.message))
            }
        }
    }

    /// Why one icon has failed; an error that would fail the others, too, is thrown again.
    private func code(
        of error: CacheError, _ object: StoredObject
    ) throws -> ExportReason {
        switch error.code {
        case .corrupt: try cache.object(object.digest) == nil ? .missing : .corrupt
        case .obstructed where error.isSparse: .unreadable
        case .obstructed: .obstructed
        // What is in one file's place, and somebody else's.
        case _ where [EISDIR, ENOTEMPTY, ENOTDIR, EPERM].contains(error.errno): .obstructed
        // Of the cache's own file; one that cannot be written stops everything.
        case _ where error.isOfObject: .unreadable
        default: throw error
        }
    }
}

/// What is exported, and how.
public struct ExportConfiguration: Sendable {
    /// For whom.
    public var layout: ExportLayout
    /// The directory beneath which the layout's own one is; made if it is not there.
    public var directory: String
    /// 8 and later name files by SHA-256, 7 by MD5. Default: 8.
    public var kingfisherVersion = 8
    /// The name of the library's directory, where an app has chosen it; one that
    /// ``ExportLayout/isFolder(_:)``. Default: nil, the library's own.
    public var folder: String?
    /// Whether files of icons that are no longer there are removed. Default: false.
    public var isPruning = false
    /// Whether every file is a copy of its own, though it could be a clone or a hard link. Default:
    /// false.
    public var copiesAll = false
    /// How manifests are read. Default: as their content tells.
    public var manifestRules = ManifestRules()

    /// The rules of the layout's library; nil of a layout that is none's.
    var keyed: (any KeyedLayout)? {
        layout.keyed(kingfisherVersion: kingfisherVersion, folder: folder)
    }

    /// Takes what has no default.
    public init(layout: ExportLayout, directory: String) {
        self.layout = layout
        self.directory = directory
    }
}
