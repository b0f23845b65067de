import LarderCache
import LarderTransfer

/// One URL that the plan wants from its origin.
///
/// An object, as what it says goes with every attempt until that is committed.
final class PlannedFetch: Sendable {
    /// The plan's name for it, unique within the run; in the order of the manifests.
    let id: Int64
    /// What the resource is looked up by: a `ResourceKey`.
    let key: String
    /// In canonical spelling, so without credentials.
    let url: String
    let credentials: Credentials?
    /// Higher first.
    let priority: Int
    /// Whether an entry demands particular bytes.
    let hasExpectation: Bool
    let status: PlanStatus
    /// What the cache has, if that is stale: its origin is asked whether it changed.
    let known: Resource?
    /// How many entries' first icons wait for it, and how many icons.
    let entries: Int
    let icons: Int

    init(
        id: Int64, key: String, url: String, credentials: Credentials?, priority: Int,
        hasExpectation: Bool, status: PlanStatus, known: Resource? = nil, entries: Int, icons: Int
    ) {
        self.id = id
        self.key = key
        self.url = url
        self.credentials = credentials
        self.priority = priority
        self.hasExpectation = hasExpectation
        self.status = status
        self.known = known
        self.entries = entries
        self.icons = icons
    }

    /// A place in the order of the whole plan: by priority, then as the manifests have it.
    struct Place: Comparable, Hashable {
        /// `~priority`, so that what is lower comes first.
        let turn: Int
        let fetch: Int64

        static func < (left: Place, right: Place) -> Bool {
            (left.turn, left.fetch) < (right.turn, right.fetch)
        }
    }

    var place: Place { Place(turn: ~priority, fetch: id) }

    /// The same, of what the cache has.
    func about(_ known: Resource) -> PlannedFetch {
        PlannedFetch(
            id: id, key: key, url: url, credentials: credentials, priority: priority,
            hasExpectation: hasExpectation, status: status, known: known, entries: entries,
            icons: icons)
    }

    /// The same with another priority.
    func with(priority: Int) -> PlannedFetch {
        guard priority != self.priority else { return self }
        return PlannedFetch(
            id: id, key: key, url: url, credentials: credentials, priority: priority,
            hasExpectation: hasExpectation, status: status, known: known, entries: entries,
            icons: icons)
    }

    /// What is asked for first: ``url`` with the credentials.
    var target: HTTPURL {
        get throws(HTTPURL.ParseError) { try HTTPURL(url).with(credentials) }
    }
}
