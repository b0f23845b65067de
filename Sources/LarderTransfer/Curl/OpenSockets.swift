import Synchronization

/// The sockets that libcurl has open, by the origin that each was opened for.
///
/// Opened and closed on the loop's thread; asked on any.
final class OpenSockets: Sendable {
    private let state = Mutex(State())

    private struct State {
        var origins: [CInt: String] = [:]
        var counts: [String: Int] = [:]
        /// Origins that lost their last one.
        var lost: Set<String> = []
    }

    func opened(_ descriptor: CInt, for origin: String) {
        state.withLock { state in
            state.origins[descriptor] = origin
            state.counts[origin, default: 0] += 1
            state.lost.remove(origin)
        }
    }

    func closed(_ descriptor: CInt) {
        state.withLock { state in
            guard let origin = state.origins.removeValue(forKey: descriptor),
                let count = state.counts[origin]
            else { return }
            state.counts[origin] = count > 1 ? count - 1 : nil
            if count == 1 { state.lost.insert(origin) }
        }
    }

    /// The origins that have lost their last one since this was asked before.
    func takeLost() -> Set<String> {
        state.withLock { state in
            defer { state.lost = [] }
            return state.lost
        }
    }

    func isOpen(to origin: String) -> Bool { state.withLock { $0.counts[origin] != nil } }
}
