import DequeModule
import LarderCore
import LarderManifest
import Synchronization

/// What callers want of single URLs while a run goes on, until its queue takes it.
final class ChangeInbox: Sendable {
    /// What is wanted of a URL.
    enum Change: Sendable {
        case priority(Int)
        case cancellation
    }

    /// So many URLs may wait here, and so many bytes of their names; those after them are passed
    /// over.
    static let limit = 65_536
    private static let byteLimit = 16 << 20

    private let state = Mutex(State())

    private struct State {
        /// By the bytes of the resource's key: a manifest's may be any text.
        var changes: [[UInt8]: Change] = [:]
        /// In the order in which they came.
        var keys: Deque<[UInt8]> = []
        var bytes = 0
        var isOpen = true
        var wake: (@Sendable () -> Void)?
    }

    /// From any thread; never waits for anything but the lock.
    ///
    /// - Parameter text: a URL in any spelling, or the key of another resource.
    func post(_ change: Change, of text: String) {
        guard let key = Self.key(of: text) else { return }
        let wake = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.isOpen else { return nil }
            if let wanted = state.changes[key] {
                // What is cancelled stays so.
                if case .priority = wanted { state.changes[key] = change }
                return nil
            }
            guard state.changes.count < Self.limit, state.bytes + key.count <= Self.byteLimit
            else { return nil }
            state.changes[key] = change
            state.keys.append(key)
            state.bytes += key.count
            return state.keys.count == 1 ? state.wake : nil
        }
        wake?()
    }

    /// Begins to keep what is wanted, for the next run, unless it does already.
    func open() { state.withLock { $0.isOpen = true } }

    /// Calls `wake` when there is something, now or later, and nobody was told so yet.
    func onPost(_ wake: @escaping @Sendable () -> Void) {
        let hasSome = state.withLock { state in
            state.wake = wake
            return !state.keys.isEmpty
        }
        if hasSome { wake() }
    }

    /// Takes out the first; nil if there is none: the next one wakes.
    func next() -> (key: [UInt8], change: Change)? {
        state.withLock { state in
            guard let key = state.keys.popFirst(),
                let change = state.changes.removeValue(forKey: key)
            else { return nil }
            state.bytes -= key.count
            return (key, change)
        }
    }

    /// The run is over: what is wanted from now on is not kept.
    func close() {
        state.withLock { $0 = State(isOpen: false) }
    }

    /// As the plan has it; nil for what is the key of nothing.
    private static func key(of text: String) -> [UInt8]? {
        guard text.utf8.count <= ManifestLimits.maximumURLSize else { return nil }
        if ResourceKey.isSpelledOut(text) { return Array(text.utf8) }
        return (try? HTTPURL(text)).map { Array($0.key.utf8) }
    }
}
