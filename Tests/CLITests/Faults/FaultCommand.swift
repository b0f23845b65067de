import LarderTestSupport

/// A command to run with a failing call, and the cache that it starts with.
enum FaultCommand: String, CaseIterable {
    /// A prefetch that creates the cache.
    case cold
    /// A prefetch of fresh, stale, changed and partially downloaded icons.
    case warm
    /// A prefetch that rebuilds a lost index.
    case recovery
    /// `verify --repair` of a damaged cache.
    case repair
    case evict
    /// `reindex` of a cache whose index is garbage.
    case reindex
    case pin

    var isPrefetch: Bool { [.cold, .warm, .recovery].contains(self) }

    /// Whether the command reports an unreadable object as a finding and continues.
    var reportsUnreadable: Bool { [.repair, .reindex, .recovery].contains(self) }
}
