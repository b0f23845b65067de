import LarderCache
import LarderCore
import LarderManifest
import NIOCore
import Synchronization

final class ServedManifests: Sendable {
    private enum Identity: Equatable {
        /// Of a file; nil if it is gone.
        case file(FileIdentity?)
        /// Of a manifest in the cache; nil if it is gone.
        case cached(Digest?)
        case unchanging
    }

    private let manifests: [(manifest: ServedManifest, spool: Rebuilt<Identity, ManifestSpool>)]
    private let rules: ManifestRules
    private let cache: LiveCache
    private let log: ServerLog
    /// One manifest is read at a time, and no thread waits: long ones would keep the whole pool.
    private let isReading = Atomic<Bool>(false)

    init(
        _ manifests: [ServedManifest], rules: ManifestRules, _ cache: LiveCache, log: ServerLog
    ) throws {
        self.manifests = manifests.map { manifest in
            let source = manifest.source.cached(cache.manifest)
            return (
                ServedManifest(name: manifest.name, source: source),
                Rebuilt(.init(retriesFailures: false))
            )
        }
        self.rules = rules
        self.cache = cache
        self.log = log
        for (manifest, spool) in self.manifests {
            let identity = try identity(of: manifest)
            spool.end(try read(manifest), of: identity, since: .now())
        }
    }

    /// Returns the spool of a manifest; nil if there is none of that name. A manifest that has
    /// changed is read first. One that cannot be read any longer is served as it was.
    func spool(_ name: String) throws -> ManifestSpool? {
        guard let (manifest, spool) = manifests.first(where: { $0.manifest.name.isSame(as: name) })
        else { return nil }
        let identity = try identity(of: manifest)
        let mayRead = isReading.compareExchange(
            expected: false, desired: true, ordering: .acquiringAndReleasing
        ).exchanged
        guard mayRead else { return spool.last }
        defer { isReading.store(false, ordering: .releasing) }
        guard case .build = spool.step(identity) else { return spool.last }
        let start = NIODeadline.now()
        do {
            spool.end(try read(manifest), of: identity, since: start)
        } catch {
            spool.end(nil, of: identity, since: start)
            log.problem("\(error); the manifest's last version is served")
        }
        return spool.last
    }

    private func read(_ manifest: ServedManifest) throws -> ManifestSpool {
        let spool = try ManifestSpool(manifest, rules: rules)
        if spool.unusable > 0 {
            let entries = spool.unusable == 1 ? "an entry" : "\(spool.unusable) entries"
            log.problem(
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
        case .url(let url, _): .cached(try cache.resource(url.string)?.object.digest)
        case .standardInput, .descriptor, .bytes: .unchanging
        }
    }
}
