/// The URLs of one origin (scheme, host and port) that wait for their turn, read from the plan a few at a time.
///
/// One for each origin, so that a slow or waiting one at the head of the manifest holds up nobody.
struct HostCursor {
    let origin: Int
    /// Operations between their place in the queue and the end of their transfer.
    var inFlight = 0
    /// Whether the last request got no answer at all.
    var isSilent = false
    /// Fetches that begin again: attempts, and redirects that lead here. By priority, then rank;
    /// among planned ones of their own priority they go first.
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
        if page.isEmpty, !isExhausted {
            page = try plan.fetches(ofOrigin: origin, after: lastRank, limit: pageSize)[...]
            if let last = page.last { lastRank = last.rank } else { isExhausted = true }
        }
        if let fetch = returned.first, isReturnedFirst { return .returned(fetch) }
        return page.first.map(Head.planned)
    }

    mutating func removeHead() {
        if isReturnedFirst { returned.removeFirst() } else { page.removeFirst() }
    }

    mutating func put(back fetch: Fetch) {
        let order = { (fetch: Fetch) in (-fetch.planned.priority, fetch.planned.rank) }
        let place = returned.firstIndex { order(fetch) < order($0) } ?? returned.endIndex
        returned.insert(fetch, at: place)
    }

    private var isReturnedFirst: Bool {
        guard let fetch = returned.first else { return false }
        return page.first.map { fetch.planned.priority >= $0.priority } ?? true
    }
}
