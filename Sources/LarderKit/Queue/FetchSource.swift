import LarderCache

/// Where a schedule has its fetches from: the plan, what the cache knows of them, and what callers
/// want of them.
struct FetchSource {
    let plan: Plan
    let cache: Cache
    let changes: FetchChanges

    /// The next fetches of an origin, as the plan has them in order.
    func page(
        ofOrigin origin: Int, after place: PlannedFetch.Place?, limit: Int
    ) throws -> [PlannedFetch] {
        try completed(try plan.fetches(ofOrigin: origin, after: place, limit: limit))
    }

    /// One that was moved to a place; nil if it is not to be fetched any more.
    func fetch(at place: PlannedFetch.Place) throws -> PlannedFetch? {
        guard let fetch = try plan.fetch(place.fetch) else { return nil }
        return try completed([fetch]).first?.with(priority: ~place.turn)
    }

    private func completed(_ fetches: [PlannedFetch]) throws -> [PlannedFetch] {
        let stale = fetches.indices.filter { fetches[$0].status == .stale }
        guard !stale.isEmpty else { return fetches }
        var fetches = fetches
        for (place, known) in zip(stale, try cache.resources(stale.map { fetches[$0].key })) {
            if let known { fetches[place] = fetches[place].about(known) }
        }
        return fetches
    }
}
