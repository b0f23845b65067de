/// Limits of a run.
struct FetchLimits: Sendable {
    let concurrent: Int
    let hosts: HostLimits
    let retry: RetryPolicy
    /// Whether a redirect may lead from https to http.
    let allowsDowngrade: Bool
    /// Whether what failed is left alone by later runs for a while.
    let remembersFailures: Bool
    /// How long an interrupted run lets what is in flight finish.
    let grace: Duration
}
