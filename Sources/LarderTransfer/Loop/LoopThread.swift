import Foundation
import Synchronization

/// The thread on which a ``LoopRunner`` runs, from beginning to end.
final class LoopThread: Sendable {
    #if canImport(Darwin)
        // Unsafe if it is a pointer, and safe because any thread may name another by it until
        // that is joined or detached, which happens once, at the end.
        private nonisolated(unsafe) let thread: pthread_t
    #else
        private let thread: pthread_t
    #endif
    private let isJoined = Mutex(false)

    /// Starts the thread; `nil` if the system has none to give.
    init?(_ runner: sending LoopRunner) {
        // Retained because the new thread alone uses it; that thread, or the failure, releases it.
        let context = Unmanaged.passRetained(runner)
        // Signals from outside are for the program's own threads, and SIGPIPE is for none; those of
        // a crash stay. The new thread inherits this, and libcurl's look-up threads from it.
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
        // Not joined means that the thread itself dropped the last reference to this object.
        if !isJoined.withLock({ $0 }) { pthread_detach(thread) }
    }

    private static func main(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        if let context {
            // Retained because `init` handed its one reference over.
            Unmanaged<LoopRunner>.fromOpaque(context).takeRetainedValue().run()
        }
        return nil
    }

    /// Waits for the thread's end, every caller does; on the thread itself, returns at once.
    func join() {
        guard pthread_equal(pthread_self(), thread) == 0 else { return }
        isJoined.withLock { isJoined in
            if !isJoined { pthread_join(thread, nil) }
            isJoined = true
        }
    }
}
