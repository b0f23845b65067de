/// An origin that can start a fetch, in the order in which origins are to be served.
struct ReadyHost: Comparable {
    let cursor: Int
    /// Out of date if the cursor has a newer one.
    let version: Int
    let isSilent: Bool
    let isBehind: Bool
    let inFlight: Int
    let turns: Int
    let isOpen: Bool
    /// Of its last request, in the order of requests.
    let lastUse: Int
    let place: PlannedFetch.Place

    static func < (left: ReadyHost, right: ReadyHost) -> Bool {
        if left.place.turn != right.place.turn { return left.place.turn < right.place.turn }
        if left.isSilent != right.isSilent { return right.isSilent }
        if left.isBehind != right.isBehind { return left.isBehind }
        if left.inFlight != right.inFlight { return left.inFlight < right.inFlight }
        if left.turns != right.turns { return left.turns < right.turns }
        if left.isOpen != right.isOpen { return left.isOpen }
        if left.isOpen, left.lastUse != right.lastUse { return left.lastUse > right.lastUse }
        return left.place < right.place
    }
}
