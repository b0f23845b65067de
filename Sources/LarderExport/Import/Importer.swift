import Foundation
import GRDB
import LarderCache
import LarderManifest

/// Adopts into a cache what another program's has: the icons that manifests name, looked up by the
/// names of their files.
///
/// Nothing in that directory is changed, and no link in it followed. A file counts only if its
/// bytes are a whole image, and those that its entry demands.
public struct Importer {
    private let cache: Cache
    private let configuration: ImportConfiguration
    private let isCancelled: () -> Bool
    private let onProgress: (ObjectProgress) -> Void

    /// - Parameters:
    ///   - cache: what it is adopted into.
    ///   - configuration: from where, and how.
    ///   - isCancelled: asked for each icon: true ends it; what was finished is kept. Default:
    ///     never.
    ///   - onProgress: called for each icon. Default: nobody looks.
    public init(
        _ cache: Cache, _ configuration: ImportConfiguration,
        isCancelled: @escaping () -> Bool = { false },
        onProgress: @escaping (ObjectProgress) -> Void = { _ in }
    ) {
        self.cache = cache
        self.configuration = configuration
        self.isCancelled = isCancelled
        self.onProgress = onProgress
    }

    /// Imports what the manifests name.
    ///
    /// - Precondition: the layout ``ExportLayout/isImportable``.
    /// - Throws: ``CacheError``: what ``ImportConfiguration/check(besideCacheAt:)`` does, and
    ///   `.missing` if there is no list in the directory; `ManifestError`.
    public func run(_ manifests: [ManifestSource]) throws -> ImportReport {
        precondition(configuration.layout.isImportable, "a layout that cannot be imported")
        do {
            let start = ContinuousClock.now
            let keyed = configuration.keyed
            let folder = try configuration.folder(besideCacheAt: cache.path)
            let source: any ImportSource =
                try keyed.map { KeyedSource(layout: $0) }
                ?? ListedSource(folder) { if isCancelled() { throw CancellationError() } }
            let store = try cache.store()
            defer { store.close() }
            var pages = ImportPages(
                cache, ImportStage(store), source: source,
                file: ImportFile(
                    directory: folder, store: store, maximumBytes: configuration.maximumBytes,
                    acceptsAnyContent: configuration.acceptsAnyContent, readFiles: try ReadFiles()),
                report: ImportReport(
                    layout: configuration.layout,
                    directory: path(of: keyed?.folders ?? [])))
            var progress = ObjectProgress()
            do {
                for manifest in manifests {
                    let manifest = manifest.cached { [cache] in try cache.manifest($0)?.file }
                    let reader = ManifestReader(
                        source: manifest, rules: configuration.manifestRules)
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
                pages.report.isInterrupted = true
                try pages.settle()
            }
            pages.report.seconds = (ContinuousClock.now - start) / .seconds(1)
            return pages.report
        } catch is CancellationError {
            // While the directory's list was read.
            var report = ImportReport(
                layout: configuration.layout, directory: configuration.directory)
            report.isInterrupted = true
            return report
        } catch let error as DatabaseError {
            throw CacheError(index: "the directory's list", error)
        }
    }

    private func path(of folders: [String]) -> String {
        let root = URL(fileURLWithPath: configuration.directory).standardizedFileURL.path
        return ([root] + folders).joined(separator: "/")
    }
}

/// What is imported, and how.
public struct ImportConfiguration: Sendable {
    /// Whose cache it is: a layout that ``ExportLayout/isImportable``.
    public var layout: ExportLayout
    /// The directory beneath which the layout's own one is.
    public var directory: String
    /// 8 and later name files by SHA-256, 7 by MD5. Default: 8.
    public var kingfisherVersion = 8
    /// The name of the library's directory, where an app has chosen it; one that
    /// ``ExportLayout/isFolder(_:)``. Default: nil, the library's own.
    public var folder: String?
    /// How many bytes a file may have. Default: 16 MiB.
    public var maximumBytes: Int64 = 16 << 20
    /// Whether files are adopted that are no images. Default: false.
    public var acceptsAnyContent = false
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

    /// Makes sure that there is something to import from, before a cache is made for it.
    ///
    /// - Parameter path: the cache's directory, which need not be there.
    /// - Throws: `CacheError`, `.missing` if there is no such directory, `.unusable` if it is the
    ///   cache, or has it among the library's files.
    public func check(besideCacheAt path: String) throws(CacheError) {
        _ = try folder(besideCacheAt: path)
    }

    /// The layout's directory; a link on the way beneath the user's own one is not followed.
    func folder(besideCacheAt path: String) throws(CacheError) -> FileDescriptor {
        let names = keyed?.folders ?? []
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

/// What became of an import.
public struct ImportReport: Sendable {
    /// The layout.
    public let layout: ExportLayout
    /// The directory that the layout's files are in.
    public let directory: String
    /// Icons of all manifests.
    public internal(set) var icons = 0
    /// Icons whose bytes were adopted, and are durable.
    public internal(set) var imported = 0
    /// Icons that the cache had already, and that were left as they are.
    public internal(set) var present = 0
    /// Icons that the directory has no file for.
    public internal(set) var missing = 0
    /// The sum of the sizes of those that were adopted.
    public internal(set) var bytes: Int64 = 0
    /// Icons that were skipped, and that failed.
    public internal(set) var problems = IconProblems<ImportReason>()
    /// Whether it ended before its end.
    public internal(set) var isInterrupted = false
    /// How long it took.
    public internal(set) var seconds: Double = 0

    init(layout: ExportLayout, directory: String) {
        self.layout = layout
        self.directory = directory
    }

    /// Icons that were skipped.
    public var skipped: Int { problems.skipped }
    /// Icons that failed.
    public var failed: Int { problems.failed }
}
