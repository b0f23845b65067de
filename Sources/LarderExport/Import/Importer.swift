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
                for manifest in manifests.map({ $0.cached(in: cache) }) {
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
