import Foundation
import Synchronization

/// Fetches URLs concurrently on one thread.
///
/// Connections are kept and shared, HTTP/2 is used if a server offers it over TLS, certificates are
/// verified, and the environment (proxies, `.netrc`) is ignored. A redirect is returned as a
/// response: the request that follows it then passes the same checks. All functions can be called
/// on any thread, also by a receiver.
package final class TransferLoop: Sendable {
    private let inbox: LoopInbox
    private let sockets: OpenSockets
    private let thread: LoopThread

    /// Starts the thread.
    ///
    /// - Throws: ``TransferError`` if a file of the configuration cannot be read, libcurl is older
    ///   than 7.88, or the system has no memory or thread.
    package init(configuration: TransferConfiguration = .init()) throws(TransferError) {
        let files = [
            ("certificate authorities", configuration.certificateAuthorities),
            ("client certificate", configuration.clientCertificate?.certificate),
            ("client key", configuration.clientCertificate?.key),
            ("netrc", configuration.netrcFile),
        ]
        for case (let name, let file?) in files where access(file, R_OK) != 0 {
            let reason = String(cString: strerror(errno))
            throw TransferError(code: .tls, message: "\(name): \(file): \(reason)")
        }
        let inbox = LoopInbox()
        let sockets = OpenSockets(logger: configuration.logger)
        let runner = try LoopRunner(configuration: configuration, inbox: inbox, sockets: sockets)
        guard let thread = LoopThread(runner) else {
            throw TransferError(code: .other, message: "the system has no thread to give")
        }
        self.inbox = inbox
        self.sockets = sockets
        self.thread = thread
    }

    deinit { shutdown() }

    /// Queues a transfer, and returns at once. The receiver is kept until it has received the end,
    /// which it does exactly once.
    @discardableResult
    package func start(_ request: TransferRequest, receiver: any TransferReceiver) -> TransferID {
        inbox.start(request, receiver)
    }

    package func cancel(_ id: TransferID) { inbox.post(.cancel(id)) }

    /// Changes ``TransferRequest/priority``, without effect once the request was sent.
    package func setPriority(_ priority: Int, of id: TransferID) {
        inbox.post(.setPriority(priority, id))
    }

    /// Continues a transfer whose receiver returned ``ReceiveVerdict/pause``.
    package func resume(_ id: TransferID) { inbox.post(.resume(id)) }

    /// Whether a connection to an origin (``HTTPURL/origin``) is open or in progress.
    package func isConnected(to origin: String) -> Bool { sockets.isOpen(to: origin) }

    /// Cancels all transfers, and returns once they and the thread have ended. If a receiver calls
    /// it, it returns at once. Transfers that start later end as cancelled.
    package func shutdown() {
        inbox.stop()
        thread.join()
    }
}

/// The commands of other threads, the only state shared with the loop.
final class LoopInbox: Sendable {
    enum Command: Sendable {
        case start(PendingTransfer)
        case cancel(TransferID)
        case resume(TransferID)
        case setPriority(Int, TransferID)
    }

    private struct State {
        var commands: [Command] = []
        var isStopping = false
        /// Set while the loop waits or is about to. Taking it wakes the loop once.
        var sleeper: MultiHandle.Waker?
        /// Set once the loop takes no more commands.
        var end: (code: TransferError.Code, message: String)?
        var lastNumber: UInt64 = 0

        // Called with the lock held, so that the multi handle still exists.
        mutating func wake() {
            sleeper?.wake()
            sleeper = nil
        }
    }

    private let state = Mutex(State())

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

    // Only the loop calls the rest.

    /// Swaps the commands with `commands`, which must be empty. Returns whether to continue.
    func take(_ commands: inout [Command]) -> Bool {
        state.withLock { state in
            swap(&state.commands, &commands)
            return !state.isStopping
        }
    }

    /// Returns whether the loop may sleep. The next command then wakes it, until ``wakeUp()``.
    func fallAsleep(_ waker: MultiHandle.Waker) -> Bool {
        state.withLock { state in
            guard state.commands.isEmpty, !state.isStopping else { return false }
            state.sleeper = waker
            return true
        }
    }

    func wakeUp() { state.withLock { $0.sleeper = nil } }

    /// Takes no more commands, and returns the last ones.
    func close(_ code: TransferError.Code, _ message: String) -> [Command] {
        state.withLock { state in
            state.end = (code, message)
            state.sleeper = nil
            defer { state.commands = [] }
            return state.commands
        }
    }
}

/// The thread of a ``LoopRunner``.
final class LoopThread: Sendable {
    #if canImport(Darwin)
        // Unsafe because it is a pointer, and safe because any thread may use it until the thread
        // is joined or detached, which happens once, at the end.
        private nonisolated(unsafe) let thread: pthread_t
    #else
        private let thread: pthread_t
    #endif
    private let isJoined = Mutex(false)

    /// `nil` if the system has no thread.
    init?(_ runner: sending LoopRunner) {
        // Retained because only the new thread uses it. That thread, or a failure, releases it.
        let context = Unmanaged.passRetained(runner)
        // Blocks all signals but those of a crash, on the new thread and libcurl's look-up threads,
        // which inherit the mask.
        var blocked = sigset_t()
        var previous = sigset_t()
        sigfillset(&blocked)
        for signal in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] {
            sigdelset(&blocked, signal)
        }
        pthread_sigmask(SIG_SETMASK, &blocked, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        guard let thread = Self.create(with: context.toOpaque()) else {
            context.release()
            return nil
        }
        self.thread = thread
    }

    private static func create(with context: UnsafeMutableRawPointer) -> pthread_t? {
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        return pthread_create(&thread, nil, { LoopThread.main($0) }, context) == 0 ? thread : nil
    }

    deinit {
        // If not joined, the thread itself released this object.
        if !isJoined.withLock({ $0 }) { pthread_detach(thread) }
    }

    private static func main(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        if let context {
            // Retained because `init` passed its reference on.
            Unmanaged<LoopRunner>.fromOpaque(context).takeRetainedValue().run()
        }
        return nil
    }

    /// Waits for the thread's end. On the thread itself, returns at once.
    func join() {
        guard pthread_equal(pthread_self(), thread) == 0 else { return }
        isJoined.withLock { isJoined in
            if !isJoined { pthread_join(thread, nil) }
            isJoined = true
        }
    }
}
