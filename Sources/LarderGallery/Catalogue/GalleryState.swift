/// How an icon is, as the gallery shows it.
public enum GalleryState: String, CaseIterable, Sendable {
    /// It may be used without asking its origin.
    case fresh
    /// It is cached, and its origin would be asked whether it changed.
    case stale
    /// A manifest names it, and it is not cached.
    case missing
    /// It is not cached, and failed when it was last asked for.
    case failed
    /// Its bytes are gone, or are not those of its digest.
    case corrupt
}
