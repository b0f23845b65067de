import LarderCache
import Synchronization

/// The names that are looked for in one part, page by page, and what was found of them.
final class WantedNames: Sendable {
    private static let pageLimit = 1024

    private let part: UInt8
    private let plan: Plan
    private let state = Mutex(State())

    private struct State {
        var page: ArraySlice<Digest> = []
        var last: Digest?
        var isAtEnd = false
        var found: [(name: Digest, known: SharedTier.Known)] = []
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
                state.last = state.page.last
                state.isAtEnd = state.page.isEmpty
            }
            return state.page.popFirst()
        }
    }

    func note(_ name: Digest, _ known: SharedTier.Known) throws {
        let page = state.withLock { state in
            state.found.append((name, known))
            guard state.found.count >= Self.pageLimit else { return state.found.prefix(0) }
            defer { state.found = [] }
            return state.found[...]
        }
        try plan.note(found: Array(page), in: part)
    }

    func finish() throws {
        try plan.note(found: state.withLock { $0.found }, in: part)
    }
}
