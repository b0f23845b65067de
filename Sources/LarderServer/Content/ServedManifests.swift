import LarderCache
import LarderCore
import LarderManifest
import NIOCore
import Synchronization

final class ServedManifests: Sendable {
    enum Identity: Equatable, Sendable {
        case file(FileIdentity?)
        case cached(Digest?)
        case unchanging
    }

    private let manifests: [(manifest: ServedManifest, spool: Rebuilt<Identity, ManifestSpool>)]
    private let rules: ManifestRules
    private let cache: LiveCache
    private let log: ServerLog
    /// Whether a thread is reading a manifest. Other threads do not wait, because long manifests
    /// would block the whole pool.
    private let isReading = Atomic<Bool>(false)
    private let catalogues = Mutex<[HostCatalogue]>([])

    private typealias HostCatalogue = (
        name: String, base: String, spool: Rebuilt<Identity, CatalogueSpool>
    )

    /// The maximum number of catalogues, because clients can send any `Host`.
    private static let catalogueLimit = 8

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
        (self.rules, self.cache, self.log) = (rules, cache, log)
        for (manifest, spool) in self.manifests {
            let identity = try identity(of: manifest)
            spool.end(try read(manifest), of: identity, since: .now())
        }
    }

    /// Returns the manifest with a name, or nil for unknown names. Reads a changed manifest again.
    /// If that fails, returns the previous version.
    func spool(_ name: String) throws -> ManifestSpool? {
        guard let (manifest, spool) = manifests.first(where: { $0.manifest.name.isSame(as: name) })
        else { return nil }
        return try current(spool, of: manifest) { try read(manifest) }
    }

    /// Returns a manifest's catalogue, or nil if no manifest has the name. The inner value is nil
    /// if no version has been read yet.
    func catalogue(_ name: String, base: String) throws -> CatalogueSpool?? {
        guard let (manifest, _) = manifests.first(where: { $0.manifest.name.isSame(as: name) })
        else { return nil }
        let spool = catalogues.withLock { all in
            let known = all.first { $0.name.isSame(as: name) && $0.base.isSame(as: base) }
            if let known { return known.spool }
            let new = Rebuilt<Identity, CatalogueSpool>(.init(retriesFailures: false))
            all = [(name, base, new)] + all.prefix(Self.catalogueLimit - 1)
            return new
        }
        return .some(
            try current(spool, of: manifest) {
                try CatalogueSpool(manifest, rules: rules, base: base)
            })
    }

    private func current<Spool>(
        _ spool: Rebuilt<Identity, Spool>, of manifest: ServedManifest, _ read: () throws -> Spool
    ) throws -> Spool? {
        let identity = try identity(of: manifest)
        let mayRead = isReading.compareExchange(
            expected: false, desired: true, ordering: .acquiringAndReleasing
        ).exchanged
        guard mayRead else { return spool.last }
        defer { isReading.store(false, ordering: .releasing) }
        guard case .build = spool.step(identity) else { return spool.last }
        let start = NIODeadline.now()
        do {
            spool.end(try read(), of: identity, since: start)
        } catch {
            spool.end(nil, of: identity, since: start)
            log.problem("\(error); the last readable version of the manifest is served")
        }
        return spool.last
    }

    private func read(_ manifest: ServedManifest) throws -> ManifestSpool {
        let spool = try ManifestSpool(manifest.source, rules: rules)
        if spool.unusable > 0 {
            let entries = spool.unusable == 1 ? "1 entry" : "\(spool.unusable) entries"
            let name = manifest.source.name.sanitizedForTerminal
            let plan = Suggestion.command("plan \(name.shellArgument)")
            log.problem(
                """
                \(name): \(entries) cannot be used and will not be served; for the reasons: \(plan)
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
