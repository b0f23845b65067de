import Synchronization

/// What other threads want of the loop: the only state the two sides share.
final class LoopInbox: Sendable {
    enum Command: Sendable {
        case start(PendingTransfer)
        case cancel(TransferID)
        case resume(TransferID)
        case setPriority(Int, TransferID)
        case withdraw(TransferID)
    }

    private struct State {
        var commands: [Command] = []
        var isStopping = false
        /// Set while the loop waits or is about to; who takes it wakes the loop, once.
        var sleeper: MultiHandle.Waker?
        /// Set once the loop takes no more commands; its reason.
        var end: (code: TransferError.Code, message: String)?
        var lastNumber: UInt64 = 0

        // Within the lock, so that the loop cannot end, and the multi handle with it, in between.
        mutating func wake() {
            sleeper?.wake()
            sleeper = nil
        }
    }

    private let state = Mutex(State())

    // MARK: For any thread

    func start(_ request: TransferRequest, _ receiver: any TransferReceiver) -> TransferID {
        let id = state.withLock { state in
            state.lastNumber += 1
            return TransferID(number: state.lastNumber)
        }
        let order = PendingTransfer(id: id, request: request, receiver: receiver)
        let end = state.withLock { state in
            if state.end == nil {
                state.commands.append(.start(order))
                state.wake()
            }
            return state.end
        }
        if let end { order.end(end.code, end.message) }
        return id
    }

    func post(_ command: Command) {
        state.withLock { state in
            guard state.end == nil else { return }
            state.commands.append(command)
            state.wake()
        }
    }

    func stop() {
        state.withLock { state in
            state.isStopping = true
            state.wake()
        }
    }

    // MARK: For the loop

    /// Swaps the commands that came for `commands`, which must be empty.
    ///
    /// - Returns: whether to go on.
    func take(_ commands: inout [Command]) -> Bool {
        state.withLock { state in
            swap(&state.commands, &commands)
            return !state.isStopping
        }
    }

    /// From `true` on until ``wakeUp()``, the next command wakes; `false` means there is one.
    func fallAsleep(_ waker: MultiHandle.Waker) -> Bool {
        state.withLock { state in
            guard state.commands.isEmpty, !state.isStopping else { return false }
            state.sleeper = waker
            return true
        }
    }

    func wakeUp() {
        state.withLock { $0.sleeper = nil }
    }

    /// No command comes in after this; those that did are returned.
    func close(_ code: TransferError.Code, _ message: String) -> [Command] {
        state.withLock { state in
            state.end = (code, message)
            state.sleeper = nil
            defer { state.commands = [] }
            return state.commands
        }
    }
}
