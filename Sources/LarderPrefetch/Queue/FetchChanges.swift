/// The fetches of a run that callers have given other priorities, or cancelled, until they are
/// reported.
final class FetchChanges {
    /// So many at once.
    private static let limit = 65_536

    private struct Change {
        var priority: Int?
        /// Whether it waits, and not at the place that the plan gives it.
        var isMoved = false
        var isCancelled = false
        /// The place of its origin if it was not taken from the plan in order: it is to be passed
        /// over there.
        var origin: Int?
    }

    private var changes: [Int64: Change] = [:]

    /// Whether no fetch is to be treated differently.
    var isEmpty: Bool { changes.isEmpty }

    /// Whether something may be wanted of a fetch: it was not cancelled, and is not one too many.
    func mayChange(_ fetch: Int64) -> Bool {
        changes[fetch].map { !$0.isCancelled } ?? (changes.count < Self.limit)
    }

    func contains(_ fetch: Int64) -> Bool { !changes.isEmpty && changes[fetch] != nil }

    func isCancelled(_ fetch: Int64) -> Bool {
        !changes.isEmpty && changes[fetch]?.isCancelled ?? false
    }

    func isMoved(_ fetch: Int64) -> Bool { changes[fetch]?.isMoved ?? false }

    /// Whether that is where it waits: it may have been moved again.
    func isCurrent(_ place: PlannedFetch.Place) -> Bool {
        guard let change = changes[place.fetch], change.isMoved else { return false }
        return change.priority.map { ~$0 } == place.turn
    }

    /// One that waits in the plan, or was moved before, has another place.
    func move(_ fetch: PendingFetch, to priority: Int) {
        changes[fetch.id] = Change(priority: priority, isMoved: true, origin: fetch.origin)
    }

    /// The turn of one that was moved has come.
    func takeOut(_ fetch: Int64) { changes[fetch]?.isMoved = false }

    /// One that was taken out has another priority.
    func setPriority(_ priority: Int, of fetch: Int64) {
        changes[fetch, default: Change()].priority = priority
    }

    /// One that waits in the plan, or was moved, is not wanted any more.
    func cancel(_ fetch: PendingFetch) {
        changes[fetch.id] = Change(isCancelled: true, origin: fetch.origin)
    }

    /// One that was taken out is not wanted any more.
    func cancel(_ fetch: Int64) { changes[fetch, default: Change()].isCancelled = true }

    /// Forgets one that was reported.
    ///
    /// - Returns: the place of its origin, if it was to be passed over in the plan.
    func remove(_ fetch: Int64) -> Int? { changes.removeValue(forKey: fetch)?.origin }

    /// The same fetch with the priority that it has by now.
    func applied(to fetch: Fetch) -> Fetch {
        guard !changes.isEmpty, let priority = changes[fetch.planned.id]?.priority else {
            return fetch
        }
        return fetch.with(priority: priority)
    }
}
