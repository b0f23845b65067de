import Foundation
import GRDB
import LarderCache
import LarderKit

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
    /// - Throws: ``CacheError``, `.missing` if there is no such directory, or no list in it;
    ///   `ManifestError`.
    public func run(_ manifests: [ManifestSource]) throws -> ImportReport {
        precondition(configuration.layout.isImportable, "a layout that cannot be imported")
        do {
            let start = ContinuousClock.now
            let keyed = configuration.layout.keyed(
                kingfisherVersion: configuration.kingfisherVersion)
            let folder = try folder(keyed?.folders ?? [])
            let source: any ImportSource =
                try keyed.map { KeyedSource(layout: $0) }
                ?? ListedSource(folder) { if isCancelled() { throw CancellationError() } }
            let store = try cache.store()
            defer { store.close() }
            var pages = ImportPages(
                cache, ImportStage(store), source: source,
                file: ImportFile(
                    directory: folder, store: store, maximumBytes: configuration.maximumBytes,
                    acceptsAnyContent: configuration.acceptsAnyContent),
                report: ImportReport(
                    layout: configuration.layout,
                    directory: path(of: keyed?.folders ?? [])))
            var progress = ObjectProgress()
            do {
                for manifest in manifests.map({ $0.cached(in: cache) }) {
                    let reader = ManifestReader(
                        source: manifest, rules: configuration.manifestRules)
                    let summary = try reader.read { item in
                        if isCancelled() { throw CancellationError() }
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

    /// The layout's directory; a link on the way beneath the user's own one is not followed.
    private func folder(_ folders: [String]) throws(CacheError) -> FileDescriptor {
        var folder = try Cache.usersDirectory(configuration.directory, create: false)
        for name in folders {
            do throws(CacheError) {
                folder = try folder.directory(name)
            } catch  where [ENOENT, ENOTDIR, ELOOP].contains(error.errno) {
                throw CacheError(
                    .missing, subject: configuration.directory,
                    message: "has no directory \(folders.joined(separator: "/"))")
            }
        }
        return folder
    }
}
