import Foundation
import LarderCache
import LarderCore
import LarderManifest
import Synchronization

/// The manifests that are served, each read again once its file has changed.
final class ManifestShelves: Sendable {
    /// What tells a manifest from what it was.
    private enum Identity: Equatable {
        /// Of a file; nil if it is gone.
        case file(FileIdentity?)
        /// Of one that the cache has; nil if it has it no longer.
        case cached(Digest?)
        /// Of what does not change.
        case unchanging
    }

    private struct Shelf {
        var spool: ManifestSpool
        var identity: Identity
    }

    private struct State {
        var shelves: [Shelf] = []
        /// One is read at a time, and nobody waits for it: a long one would keep every thread of
        /// the pool.
        var isReading = false
    }

    private let manifests: [ServedManifest]
    private let rules: ManifestRules
    private let reader: CacheReader
    private let onProblem: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// Reads all of them.
    ///
    /// - Parameter reader: has the manifests at URLs.
    /// - Throws: `ManifestError` if one cannot be read.
    init(
        _ manifests: [ServedManifest], rules: ManifestRules, _ reader: CacheReader,
        onProblem: @escaping @Sendable (String) -> Void
    ) throws {
        self.manifests = manifests
        self.rules = rules
        self.reader = reader
        self.onProblem = onProblem
        let shelves = try manifests.map { manifest in
            let identity = try identity(of: manifest)
            return Shelf(spool: try read(manifest), identity: identity)
        }
        state.withLock { $0.shelves = shelves }
    }

    /// The spool of a manifest; nil if there is none of that name. If the manifest has changed, it
    /// is read first; whoever asks meanwhile gets the last one.
    ///
    /// One that cannot be read any longer is served as it was.
    func spool(_ name: String) throws -> ManifestSpool? {
        guard let index = manifests.firstIndex(where: { $0.name.isSame(as: name) }) else {
            return nil
        }
        let identity = try identity(of: manifests[index])
        let last: ManifestSpool? = state.withLock { state in
            if state.isReading || state.shelves[index].identity == identity {
                return state.shelves[index].spool
            }
            state.isReading = true
            return nil
        }
        if let last { return last }
        let spool = Result { try read(manifests[index]) }
        if case .failure(let error) = spool {
            onProblem("\(error); the manifest's last version is served")
        }
        return state.withLock { state in
            state.isReading = false
            // Also of one that fails: it is not tried again before it changes once more.
            state.shelves[index].identity = identity
            if let spool = try? spool.get() { state.shelves[index].spool = spool }
            return state.shelves[index].spool
        }
    }

    private func read(_ manifest: ServedManifest) throws -> ManifestSpool {
        let spool = try ManifestSpool(manifest, rules: rules)
        if spool.unusable > 0 {
            let entries = spool.unusable == 1 ? "an entry" : "\(spool.unusable) entries"
            onProblem(
                """
                \(manifest.source.name.sanitizedForTerminal): leaves out \(entries) that cannot be \
                used; larder plan says why
                """)
        }
        return spool
    }

    private func identity(of manifest: ServedManifest) throws -> Identity {
        switch manifest.source {
        case .file(let path): .file(FileIdentity(path: path))
        case .url(let url, _): .cached(try reader.cache.resource(url.string)?.object.digest)
        case .standardInput, .descriptor, .bytes: .unchanging
        }
    }
}
