import Foundation
import GRDB
import LarderCache
import LarderManifest

/// An import of manifests' icons from another program's cache.
///
/// Does not change the other cache or follow its links.
package struct Importer {
    private let cache: Cache
    private let configuration: ImportConfiguration
    private let isCancelled: () -> Bool
    private let onProgress: (ObjectProgress) -> Void

    /// - Parameter isCancelled: Polled for each icon. A cancelled import keeps the stored icons.
    package init(
        _ cache: Cache, _ configuration: ImportConfiguration,
        isCancelled: @escaping () -> Bool = { false },
        onProgress: @escaping (ObjectProgress) -> Void = { _ in }
    ) {
        self.cache = cache
        self.configuration = configuration
        self.isCancelled = isCancelled
        self.onProgress = onProgress
    }

    package func run(_ manifests: [ManifestSource]) throws -> ImportReport {
        precondition(configuration.layout.isImportable, "layout cannot be imported")
        let start = ContinuousClock.now
        let root = URL(fileURLWithPath: configuration.directory).standardizedFileURL.path
        let folders = configuration.library?.folders ?? []
        var report = ImportReport(
            layout: configuration.layout, directory: ([root] + folders).joined(separator: "/"))
        do {
            let folder = try configuration.folder(besideCacheAt: cache.path)
            let places: (String) throws -> [ImportPlace]
            if let library = configuration.library {
                places = library.places
            } else {
                places = try ListedFiles(in: folder, unless: isCancelled).places
            }
            let store = try cache.store()
            defer { store.close() }
            let file = ImportFile(
                directory: folder, store: store, configuration: configuration,
                readFiles: try ReadFiles())
            var pages = ImportPages(
                cache: cache, store: store, places: places, file: file, report: report)
            defer { report = pages.report }
            try read(manifests, into: &pages, since: start)
        } catch is CancellationError {
            report.isInterrupted = true
        } catch let error as DatabaseError {
            throw CacheError(index: "the list of imported files", error)
        }
        report.seconds = (ContinuousClock.now - start) / .seconds(1)
        return report
    }

    private func read(
        _ manifests: [ManifestSource], into pages: inout ImportPages,
        since start: ContinuousClock.Instant
    ) throws {
        var progress = ObjectProgress()
        do {
            for manifest in manifests {
                let manifest = manifest.cached { [cache] in try cache.manifest($0)?.file }
                let reader = ManifestReader(source: manifest, rules: configuration.manifestRules)
                let summary = try reader.read(unless: isCancelled) { item in
                    try pages.add(item)
                    progress.objects += 1
                    progress.bytes = pages.report.bytes
                    progress.seconds = (ContinuousClock.now - start) / .seconds(1)
                    onProgress(progress)
                }
                if let refusal = summary.refusal(of: manifest) { throw refusal }
            }
            try pages.finish()
        } catch is CancellationError {
            try pages.settle()
            throw CancellationError()
        }
    }
}

package struct ImportConfiguration: Sendable {
    package var layout: ExportLayout
    package var directory: String
    package var folder: String?
    package var maximumBytes: Int64 = 16 << 20
    package var acceptsAnyContent = false
    package var manifestRules = ManifestRules()

    var library: KeyedLayout? { layout.library(in: folder) }

    package init(layout: ExportLayout, directory: String) {
        self.layout = layout
        self.directory = directory
    }

    /// Checks the directory before a cache is created. Throws `.missing` if the directory or its
    /// `index.json` does not exist, `.unusable` if it is or contains the cache.
    package func check(besideCacheAt path: String) throws(CacheError) {
        let folder = try folder(besideCacheAt: path)
        if library == nil, try folder.status(of: FileIndex.file) == nil {
            throw ListedFiles.missingIndex(in: folder)
        }
    }

    func folder(besideCacheAt path: String) throws(CacheError) -> FileDescriptor {
        let names = library?.folders ?? []
        let root = try Cache.usersDirectory(directory)
        var folder = root
        for name in names {
            do throws(CacheError) {
                folder = try folder.directory(name)
            } catch  where [ENOENT, ENOTDIR, ELOOP].contains(error.errno) {
                throw CacheError(
                    .missing, subject: directory,
                    message: "has no subdirectory \(names.joined(separator: "/"));"
                        + " specify the directory that contains it")
            }
        }
        let place = try Cache.nearestDirectory(to: path)
        let isCache =
            try FileIdentity(path: path)?.isSameFile(as: FileIdentity(root.status())) ?? false
        // The root may contain the cache, which on macOS is next to the libraries' caches.
        guard !isCache, try !place.lies(in: folder) else {
            throw CacheError(.unusable, subject: directory, message: "contains the cache")
        }
        return folder
    }
}

package struct ImportReport: Sendable {
    package var layout: ExportLayout
    package let directory: String
    package internal(set) var icons = 0
    package internal(set) var imported = 0
    package internal(set) var present = 0
    package internal(set) var missing = 0
    package internal(set) var bytes: Int64 = 0
    package internal(set) var problems = ItemFailures<ImportCode>()
    package internal(set) var isInterrupted = false
    package internal(set) var seconds: Double = 0

    package var skipped: Int { problems.skipped }
    package var failed: Int { problems.failed }
}
