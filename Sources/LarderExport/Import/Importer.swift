import Foundation
import GRDB
import LarderCache
import LarderManifest

/// Imports the icons that manifests name from another program's cache, by the names of files. It
/// changes nothing there, and follows no link. A file counts only if its bytes are a complete
/// image, and as its entry demands.
package struct Importer {
    private let cache: Cache
    private let configuration: ImportConfiguration
    private let isCancelled: () -> Bool
    private let onProgress: (ObjectProgress) -> Void

    /// - Parameter isCancelled: Is asked for each icon: true ends the import. Stored icons stay.
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

    /// - Precondition: the layout ``ExportLayout/isImportable``.
    /// - Throws: ``CacheError``: also as ``ImportConfiguration/check(besideCacheAt:)``, and
    ///   `.missing` if the directory has no list; `ManifestError`.
    package func run(_ manifests: [ManifestSource]) throws -> ImportReport {
        precondition(configuration.layout.isImportable, "a layout that cannot be imported")
        let start = ContinuousClock.now
        let root = URL(fileURLWithPath: configuration.directory).standardizedFileURL.path
        let folders = configuration.library?.folders ?? []
        var report = ImportReport(
            layout: configuration.layout, directory: ([root] + folders).joined(separator: "/"))
        do {
            let folder = try configuration.folder(besideCacheAt: cache.path)
            let source: ImportSource =
                if let library = configuration.library {
                    .library(library)
                } else {
                    .list(
                        try ListedFiles(in: folder) {
                            if isCancelled() { throw CancellationError() }
                        })
                }
            let store = try cache.store()
            defer { store.close() }
            let file = ImportFile(
                directory: folder, store: store, maximumBytes: configuration.maximumBytes,
                acceptsAnyContent: configuration.acceptsAnyContent, readFiles: try ReadFiles())
            var pages = ImportPages(cache, store, source: source, file: file, report: report)
            // Also if it is cancelled.
            defer { report = pages.report }
            try read(manifests, into: &pages, since: start)
        } catch is CancellationError {
            report.isInterrupted = true
        } catch let error as DatabaseError {
            throw CacheError(index: "the directory's list", error)
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
    /// A layout that ``ExportLayout/isImportable``.
    package var layout: ExportLayout
    /// The directory that has the layout's own one.
    package var directory: String
    /// The name of the library's directory (``ExportLayout/isFolder(_:)``). Default: nil, its own.
    package var folder: String?
    /// The maximum size of a file in bytes. Default: 16 MiB.
    package var maximumBytes: Int64 = 16 << 20
    /// Whether files are imported that are not images. Default: false.
    package var acceptsAnyContent = false
    package var manifestRules = ManifestRules()

    var library: (any KeyedLayout)? { layout.library(in: folder) }

    package init(layout: ExportLayout, directory: String) {
        self.layout = layout
        self.directory = directory
    }

    /// Checks that the directory exists, before a cache is made for its icons. Throws `.missing` if
    /// it does not, `.unusable` if it is the cache, or has it among the library's files.
    package func check(besideCacheAt path: String) throws(CacheError) {
        _ = try folder(besideCacheAt: path)
    }

    /// Opens the layout's directory. Links beneath the user's own one are not followed.
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
                    message: """
                        there is no directory \(names.joined(separator: "/")) in it; name the one \
                        that has it
                        """)
            }
        }
        let place = try Cache.nearestDirectory(to: path)
        let isCache =
            try FileIdentity(path: path)?.isSameFile(as: FileIdentity(root.status())) ?? false
        // On macOS, the default cache lies beside those of the libraries, in Library/Caches.
        guard !isCache, try !place.lies(in: folder) else {
            throw CacheError(.unusable, subject: directory, message: "has the cache in it")
        }
        return folder
    }
}

package struct ImportReport: Sendable {
    package var layout: ExportLayout
    /// The directory that has the layout's files.
    package let directory: String
    package internal(set) var icons = 0
    /// Icons that were stored, and are durable.
    package internal(set) var imported = 0
    package internal(set) var present = 0
    /// Icons that the directory has no file for.
    package internal(set) var missing = 0
    package internal(set) var bytes: Int64 = 0
    package internal(set) var problems = IconFailures<ImportCode>()
    package internal(set) var isInterrupted = false
    package internal(set) var seconds: Double = 0

    package var skipped: Int { problems.skipped }
    package var failed: Int { problems.failed }
}
