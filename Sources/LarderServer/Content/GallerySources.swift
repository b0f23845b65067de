import LarderCache

/// What a gallery was made of: as long as that stays, so do its icons, but for those that become
/// stale or are damaged.
struct GallerySources: Sendable, Equatable {
    private let generation: Int
    private let manifests: [FileIdentity?]

    /// As it is now. What is at URLs is in the cache.
    init(_ reader: CacheReader, _ manifests: [ServedManifest]) {
        generation = reader.generation
        self.manifests = manifests.map { manifest in
            guard case .file(let path) = manifest.source else { return nil }
            return FileIdentity(path: path)
        }
    }
}
