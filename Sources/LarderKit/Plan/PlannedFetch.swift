import LarderCache
import LarderTransfer

/// One URL that the plan wants from its origin.
struct PlannedFetch: Sendable {
    /// The plan's name for it, unique within the run.
    let id: Int64
    /// What the resource is looked up by: the URL, or the manifest's `key`.
    let key: String
    /// In canonical spelling, so without credentials.
    let url: String
    let credentials: Credentials?
    /// Higher first.
    let priority: Int
    /// Its place in the order of the whole plan: priority, then manifest order.
    let rank: Int64
    /// Whether an entry demands particular bytes.
    let hasExpectation: Bool
    let status: PlanStatus
    /// What the cache has, where that is stale and its origin is to be asked whether it changed.
    var known: Resource?
    /// How many entries' first icons wait for it, and how many icons.
    let entries: Int
    let icons: Int

    /// What is asked for first: ``url`` with the credentials.
    var target: HTTPURL {
        get throws(HTTPURL.ParseError) { try HTTPURL(url).with(credentials) }
    }
}
