/// What is asked for of what is cached or has failed before.
public struct PlanPolicy: Sendable, Equatable {
    /// Which cached resources are asked for again. Default: stale ones.
    public var revalidation = Revalidation.stale
    /// How long a permanent failure (404, 410) is not asked for again. Default: an hour; zero asks
    /// every time.
    public var failureLifetime: Duration = .seconds(3600)
    /// Whether only what failed before is fetched, permanent failures included. Default: false.
    public var retriesOnlyFailed = false
    /// Whether nothing at all is asked for: what is cached counts as fresh, and what is missing
    /// fails. Stands above everything else here. Default: false.
    public var isOffline = false

    /// The defaults.
    public init() {}
}
