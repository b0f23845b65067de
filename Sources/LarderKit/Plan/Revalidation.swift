/// Which cached resources are asked for again.
public enum Revalidation: String, Sendable, CaseIterable {
    /// Those that are no longer fresh (RFC 9111, section 4.2).
    case stale
    /// All, past caches on the way as well, but for those that are fresh and `immutable` (RFC
    /// 8246).
    case always
    /// None: what is there counts as fresh whatever its age and its headers. The user's own word,
    /// which stands above `must-revalidate`, `no-cache` and `Vary`.
    case never
}
