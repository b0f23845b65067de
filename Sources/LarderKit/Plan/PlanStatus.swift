/// What has to be done for one URL of a plan.
public enum PlanStatus: Int, Sendable {
    /// It is not in the cache, or not as the manifest demands: fetch it.
    case missing = 0
    /// It is in the cache and no longer fresh: ask its origin whether it changed.
    case stale = 1
    /// It is in the cache and fresh: nothing.
    case cached = 2
    /// A permanent failure is remembered: it is not asked for again so soon.
    case failed = 3
    /// Only what failed before is fetched, and it did not.
    case skipped = 4
    /// It is not in the cache, or not as the manifest demands, and nothing is to be asked for.
    case unavailable = 5

    /// The word that output uses.
    public var name: String {
        switch self {
        case .missing: "missing"
        case .stale: "stale"
        case .cached: "cached"
        case .failed, .unavailable: "failed"
        case .skipped: "skipped"
        }
    }
}
