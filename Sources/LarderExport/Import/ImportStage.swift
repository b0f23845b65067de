import Foundation
import LarderCache
import Synchronization

/// Hands adopted files to the store, and learns which of them are durable.
final class ImportStage: Depositor, Sendable {
    /// What was handed to the store: the context of a deposit.
    struct Adopted: Sendable {
        /// Tells it from others.
        let number: Int
        let name: String
        let url: String
        let size: Int64
    }

    /// What the store has refused.
    struct Refused: Sendable {
        let adopted: Adopted
        let error: CacheError
    }

    private let store: Store
    private let state = Mutex(State())

    private struct State {
        var imported: [Adopted] = []
        var refused: [Refused] = []
        var failure: CacheError?
    }

    init(_ store: Store) { self.store = store }

    /// Adds a resource to the store's batch.
    ///
    /// It has no validators, because nobody knows what its origin has said, and is stale from the
    /// beginning: the next prefetch asks.
    func add(_ object: StagedObject, key: String, url: String, _ adopted: Adopted) {
        let now = Date()
        let accepted = DispatchSemaphore(value: 0)
        store.add(
            Deposit(
                context: adopted, key: key, url: url, redirectsFreshUntil: now, receivedAt: now,
                content: .staged(object)),
            for: self
        ) { accepted.signal() }
        accepted.wait()
    }

    /// What was committed and what was refused since the last call; waits for it.
    ///
    /// - Throws: ``CacheError`` if the cache cannot go on.
    func flush() throws(CacheError) -> (imported: [Adopted], refused: [Refused]) {
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
                guard let adopted = outcome.context as? Adopted else { continue }
                switch outcome.result {
                case .success: state.imported.append(adopted)
                case .failure(let error) where [.missing, .obstructed].contains(error.code):
                    state.refused.append(Refused(adopted: adopted, error: error))
                case .failure(let error): state.failure = state.failure ?? error
                }
            }
        }
    }
}
