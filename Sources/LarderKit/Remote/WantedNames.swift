import LarderCache
import Synchronization

/// The names that are looked for in one part, page by page, and what was found of them.
final class WantedNames: Sendable {
    private static let pageLimit = 1024

    private let part: UInt8
    private let plan: Plan
    private let state = Mutex(State())

    private struct State {
        var page: ArraySlice<(name: Digest, fetch: Int64)> = []
        var last: Digest?
        var isAtEnd = false
        /// The fetches of names that were handed out and can still be found.
        var fetches: [Digest: Int64] = [:]
        var found: [(fetch: Int64, known: SharedTier.Known)] = []
    }

    init(in part: UInt8, of plan: Plan) {
        self.part = part
        self.plan = plan
    }

    /// The next name, in ascending order.
    func next() throws -> Digest? {
        try state.withLock { state in
            if state.page.isEmpty, !state.isAtEnd {
                state.page = try plan.wantedNames(
                    in: part, after: state.last, limit: Self.pageLimit)[...]
                state.last = state.page.last?.name
                state.isAtEnd = state.page.isEmpty
            }
            guard let (name, fetch) = state.page.popFirst() else { return nil }
            state.fetches[name] = fetch
            return name
        }
    }

    func note(_ name: Digest, _ known: SharedTier.Known) throws {
        let page = state.withLock { state in
            if let fetch = state.fetches[name] { state.found.append((fetch, known)) }
            guard state.found.count >= Self.pageLimit else { return state.found.prefix(0) }
            defer { state.found = [] }
            return state.found[...]
        }
        try plan.note(found: Array(page))
    }

    func finish() throws {
        try plan.note(found: state.withLock { $0.found })
    }
}
