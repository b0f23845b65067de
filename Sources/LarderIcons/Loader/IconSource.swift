/// Where an icon, or the news that there is none, comes from.
public enum IconSource: Sendable {
    /// It was in memory.
    case memory
    /// The cache directory.
    case disk
    /// The cache that an app is shipped with.
    case bundle
    /// The icon's server.
    case network

    init(_ source: MemoryCache.Entry.Source) {
        switch source {
        case .disk: self = .disk
        case .bundle: self = .bundle
        case .network: self = .network
        }
    }
}
