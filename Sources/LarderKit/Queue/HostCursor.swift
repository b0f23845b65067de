/// The URLs of one origin (scheme, host and port) that wait for their turn, read from the plan a few at a time.
///
/// One for each origin, so that a slow or waiting one at the head of the manifest holds up nobody.
struct HostCursor {
    let origin: Int
    /// Operations between their place in the queue and the end of their transfer.
    var inFlight = 0
    /// Fetches that begin again: attempts, and redirects that lead here. They go first.
    private var returned: [Fetch] = []
    private var page: ArraySlice<PlannedFetch> = []
    private var lastRank: Int64 = 0
    private var isExhausted: Bool
    private let pageSize: Int

    /// - Parameters:
    ///   - isPlanned: whether the plan has URLs of this origin; redirects may lead to others.
    ///   - pageSize: how many planned fetches are read at once.
    init(origin: Int, isPlanned: Bool, pageSize: Int) {
        self.origin = origin
        self.pageSize = pageSize
        isExhausted = !isPlanned
    }

    enum Head {
        case planned(PlannedFetch)
        case returned(Fetch)
    }

    /// The next fetch, left where it is; nil where none waits.
    mutating func head(from plan: Plan) throws -> Head? {
        if let fetch = returned.first { return .returned(fetch) }
        if page.isEmpty, !isExhausted {
            page = try plan.fetches(ofOrigin: origin, after: lastRank, limit: pageSize)[...]
            if let last = page.last { lastRank = last.rank } else { isExhausted = true }
        }
        return page.first.map(Head.planned)
    }

    mutating func removeHead() {
        if returned.isEmpty { page.removeFirst() } else { returned.removeFirst() }
    }

    mutating func put(back fetch: Fetch) { returned.append(fetch) }
}
