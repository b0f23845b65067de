import HeapModule

/// What callers want of single fetches while they wait.
extension HostSchedule {
    /// Where a fetch is that gets another priority.
    enum Whereabouts {
        /// It waits here.
        case waits
        /// It was taken out, or waits for the time of another attempt.
        case takenOut
        /// It is cancelled already, or one too many changes.
        case no
    }

    /// Gives a fetch another priority; if it waits, it takes the place that this gives it. It may
    /// still have to wait for its time.
    mutating func setPriority(_ priority: Int, of fetch: PendingFetch) throws -> Whereabouts {
        guard changes.mayChange(fetch.id) else { return .no }
        if isPlanned(fetch) {
            enter(fetch.origin)
            cursors[fetch.origin]?.move(fetch, to: priority, changes)
            try placeAgain(fetch.origin)
            return .waits
        }
        // That of one that waits for another attempt counts once its time has come.
        changes.setPriority(priority, of: fetch.id)
        let number = away[fetch.id] ?? fetch.origin
        guard cursors[number]?.setPriority(priority, ofReturned: fetch.id) ?? false else {
            return .takenOut
        }
        try placeAgain(number)
        return .waits
    }

    /// Where a fetch was that is cancelled.
    enum Cancelled {
        /// It waited for its first turn.
        case planned
        /// It waited for another request.
        case returned(Fetch)
        /// It was taken out: whoever has it sees that it is cancelled.
        case takenOut
        /// It is cancelled already, or one too many is.
        case no
    }

    /// Takes out a fetch for good.
    mutating func cancel(_ fetch: PendingFetch) throws -> Cancelled {
        guard changes.mayChange(fetch.id) else { return .no }
        if isPlanned(fetch) {
            enter(fetch.origin)
            cursors[fetch.origin]?.cancel(fetch, changes)
            remaining = max(0, remaining - 1)
            try placeAgain(fetch.origin)
            forget(fetch.origin)
            return .planned
        }
        changes.cancel(fetch.id)
        let number = away[fetch.id] ?? fetch.origin
        var removed = cursors[number]?.remove(returned: fetch.id)
        if removed == nil, delayed.unordered.contains(where: { $0.value.planned.id == fetch.id }) {
            var waiting = delayed.unordered
            let place = waiting.firstIndex { $0.value.planned.id == fetch.id }
            removed = place.map { waiting.remove(at: $0).value }
            delayed = Heap(waiting)
            cursors[number]?.waiting -= 1
        }
        guard let removed else { return .takenOut }
        // One may have waited for it to make room.
        for number in [countAway(removed, at: number, -1), number].compactMap(\.self) {
            try placeAgain(number)
            forget(number)
        }
        return .returned(removed)
    }

    /// Forgets what was wanted of fetches that are reported.
    mutating func forget(reported fetches: some Sequence<Int64>) {
        guard !changes.isEmpty else { return }
        for fetch in fetches {
            guard let origin = changes.remove(fetch) else { continue }
            cursors[origin]?.forget(planned: fetch)
        }
    }

    /// Whether a fetch waits for its first turn.
    private func isPlanned(_ fetch: PendingFetch) -> Bool {
        if changes.contains(fetch.id) { return changes.isMoved(fetch.id) }
        return cursors[fetch.origin].map { $0.isAhead(fetch) } ?? (planned[fetch.origin] > 0)
    }

    private mutating func placeAgain(_ number: Int) throws {
        try place(number)
        // What it has first now may not stand for the other newcomers.
        if number == newcomer { try welcome() }
    }
}
