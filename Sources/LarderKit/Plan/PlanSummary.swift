/// What a plan counts.
public struct PlanSummary: Sendable, Equatable {
    /// Elements in all manifests.
    public var entries = 0
    /// Distinct URLs among the entries that have one.
    public var urls = 0
    /// URLs that are cached and fresh.
    public var cached = 0
    /// URLs that are cached and stale.
    public var stale = 0
    /// URLs that are to be fetched.
    public var missing = 0
    /// Entries without an icon, or that are left alone.
    public var skipped = 0
    /// Entries that cannot be used, or whose failure is remembered.
    public var failed = 0
    /// URLs whose permanent failure is remembered: they are not asked for.
    public var remembered = 0
    /// URLs that are left alone because only what failed before is fetched.
    public var leftAlone = 0

    /// Nothing planned.
    public init() {}
}
