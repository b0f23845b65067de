import Foundation
import LarderCache
import Synchronization

/// Hands adopted files to the store, and learns which of them are durable.
final class ImportStage: Depositor, Sendable {
    /// What was handed to the store.
    struct Adopted: Sendable {
        let name: String
        let url: String
        let size: Int64
    }

    private let store: Store
    private let state = Mutex(State())

    private struct State {
        var pending: [Int64: Adopted] = [:]
        var lastToken: Int64 = 0
        var imported: [Adopted] = []
        var refused: [(Adopted, CacheError)] = []
        var failure: CacheError?
    }

    init(_ store: Store) { self.store = store }

    /// Adds a resource to the store's batch.
    ///
    /// It has no validators, because nobody knows what its origin has said, and is stale from the
    /// beginning: the next prefetch asks.
    func add(_ object: StagedObject, key: String, url: String, _ adopted: Adopted) {
        let token = state.withLock { state in
            state.lastToken += 1
            state.pending[state.lastToken] = adopted
            return state.lastToken
        }
        let now = Date()
        let accepted = DispatchSemaphore(value: 0)
        store.add(
            Deposit(
                token: token, key: key, url: url, redirectsFreshUntil: now, receivedAt: now,
                content: .staged(object)),
            for: self
        ) { accepted.signal() }
        accepted.wait()
    }

    /// What was committed and what was refused since the last call; waits for it.
    ///
    /// - Throws: ``CacheError`` if the cache cannot go on.
    func flush() throws(CacheError) -> (imported: [Adopted], refused: [(Adopted, CacheError)]) {
        store.flush()
        let (imported, refused, failure) = state.withLock { state in
            defer { (state.imported, state.refused) = ([], []) }
            return (state.imported, state.refused, state.failure)
        }
        if let failure { throw failure }
        return (imported, refused)
    }

    func committed(_ outcomes: [Store.Outcome]) {
        state.withLock { state in
            for outcome in outcomes {
                guard let adopted = state.pending.removeValue(forKey: outcome.token) else {
                    continue
                }
                switch outcome.result {
                case .success: state.imported.append(adopted)
                case .failure(let error) where [.missing, .obstructed].contains(error.code):
                    state.refused.append((adopted, error))
                case .failure(let error): state.failure = state.failure ?? error
                }
            }
        }
    }
}
