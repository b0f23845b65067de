import LarderTestSupport

/// What runs while a call fails, and on which cache.
enum FaultCommand: String, CaseIterable {
    /// A prefetch that makes the cache.
    case cold
    /// A prefetch of what is fresh, stale and unchanged, changed, and begun.
    case warm
    /// A prefetch that rebuilds a lost index.
    case recovery
    /// `verify --repair` of a damaged cache.
    case repair
    case evict
    /// `reindex` where the index is garbage.
    case reindex
    case pin

    var isPrefetch: Bool { [.cold, .warm, .recovery].contains(self) }

    /// Whether an object that cannot be read is a finding of the command, and not its end.
    var reportsUnreadable: Bool { [.repair, .reindex, .recovery].contains(self) }
}
