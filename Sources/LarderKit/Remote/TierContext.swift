import LarderCache
import LarderTransfer

/// What the stages of a remote have to do with the rest of a run.
struct TierContext: Sendable {
    let remote: Remote
    let plan: Plan
    let cache: Cache
    let store: Store
    let reporter: Reporter
    let check: BodyCheck
    let policy: PlanPolicy
    let headers: RequestHeaders
    let maximumObjectBytes: Int64
    /// How connections are made.
    let transfer: TransferConfiguration
    /// How long an interrupted run lets what is in flight finish.
    let grace: Duration
    /// Called when something was taken from the remote, or left there.
    let onProgress: @Sendable () -> Void
}
