import Foundation
import LarderCache
import LarderKit
import Synchronization

/// The manifests that are served, each read again once its file has changed.
final class ManifestShelves: Sendable {
    private struct Shelf {
        var spool: ManifestSpool?
        var file: [Int64]?
    }

    private let manifests: [ServedManifest]
    private let rules: ManifestRules
    private let shelves: Mutex<[Shelf]>
    /// One is read at a time, and by one thread: a long one would keep every thread of a pool.
    private let reading = Mutex<Void>(())

    /// Reads all of them.
    ///
    /// - Throws: `ManifestError` if one cannot be read.
    init(_ manifests: [ServedManifest], rules: ManifestRules) throws {
        self.manifests = manifests
        self.rules = rules
        shelves = Mutex(Array(repeating: Shelf(), count: manifests.count))
        for index in manifests.indices { _ = try read(index) }
    }

    /// Their names.
    var names: [String] { manifests.map(\.name) }

    /// The spool of a manifest; nil if there is none of that name. May wait for it to be read.
    ///
    /// One that cannot be read any longer is served as it was.
    func spool(_ name: String) -> ManifestSpool? {
        guard let index = manifests.firstIndex(where: { $0.name.isSame(as: name) }) else {
            return nil
        }
        let shelf = shelves.withLock { $0[index] }
        guard shelf.file != Self.identity(of: manifests[index]) else { return shelf.spool }
        return (try? read(index)) ?? shelf.spool
    }

    private func read(_ index: Int) throws -> ManifestSpool? {
        let manifest = manifests[index]
        return try reading.withLock { _ in
            let file = Self.identity(of: manifest)
            let last = shelves.withLock { $0[index] }
            // Another thread has read it meanwhile.
            if let spool = last.spool, last.file == file { return spool }
            do {
                let spool = try ManifestSpool(manifest, rules: rules)
                shelves.withLock { $0[index] = Shelf(spool: spool, file: file) }
                return spool
            } catch {
                // Not tried again before it changes once more.
                shelves.withLock { $0[index].file = file }
                throw error
            }
        }
    }

    /// What tells a file from what it was; nil if it is gone, or is none.
    private static func identity(of manifest: ServedManifest) -> [Int64]? {
        guard case .file(let path) = manifest.source else { return nil }
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        #if canImport(Darwin)
            let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
            let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        return [
            Int64(truncatingIfNeeded: status.st_dev), Int64(truncatingIfNeeded: status.st_ino),
            Int64(status.st_size), Int64(modified.tv_sec), Int64(modified.tv_nsec),
            Int64(changed.tv_sec), Int64(changed.tv_nsec),
        ]
    }
}
