import CLarderGuard
import Foundation
import LarderCache
import Synchronization

#if canImport(Glibc)
    import CLarderSystem
#endif

enum Allocator {
    /// By default glibc gives threads that meet in malloc(3) a heap each, eight for each core, and
    /// memory that one frees cannot be used by the others. It also takes ever larger blocks from
    /// heaps, which then cannot shrink. Measured: 10 MB of a run's 58. Call this before there are
    /// threads. On other systems, it does nothing.
    static func keepSmall() {
        #if canImport(Glibc)
            mallopt(M_ARENA_MAX, 2)
            mallopt(M_MMAP_THRESHOLD, 128 << 10)
            mallopt(M_TRIM_THRESHOLD, 128 << 10)
        #endif
    }
}

/// Calls a handler for each signal of one number, which from then on does nothing else.
///
/// All handlers run on one thread, which is started with the first watch. A dispatch source would
/// have to start one when the signal arrives, and would wait if the system has none to give.
enum SignalWatch {
    private static let handlers = Mutex<[Int32: @Sendable () -> Void]>([:])
    private static let hasThread = Mutex(false)

    static func start(_ number: Int32, _ handler: @escaping @Sendable () -> Void) {
        handlers.withLock { $0[number] = handler }
        let pipe = larder_watch_signal(number)
        guard pipe >= 0 else {
            ProcessLimits.leave(CacheError("pipe", subject: "signals", errno: errno))
        }
        hasThread.withLock { hasThread in
            if hasThread { return }
            hasThread = HelperThread.start { handleAll(pipe) }
            if !hasThread { ProcessLimits.leave(HelperThread.shortage) }
        }
    }

    private static func handleAll(_ pipe: Int32) {
        var number: UInt8 = 0
        while true {
            let count = read(pipe, &number, 1)
            if count == 1 {
                handlers.withLock { $0[Int32(number)] }?()
            } else if count == 0 || errno != EINTR {
                return
            }
        }
    }
}

/// The limits of the process that Larder cannot do without. They are checked before anything
/// begins, because a run that meets one in the middle may not be able to say so.
enum ProcessLimits {
    /// File descriptors that every command needs: the cache and its index, and those that
    /// libdispatch opens on threads of its own. It traps (SIGILL) if there is none.
    private static let files = 24
    /// Threads that every command needs: the one that runs it, the one that handles signals, and
    /// libdispatch's own.
    private static let threads = 4
    /// Threads of a run that transfers or stores.
    private static let transferThreads = 24
    /// Address space that a command needs besides its threads' stacks, in bytes.
    private static let room = 96 << 20

    /// Ends the program if it could not even start a command.
    static func requireSome() {
        var taken: [Int32] = []
        for _ in 0..<files {
            let descriptor = dup(STDERR_FILENO)
            if descriptor < 0 { break }
            taken.append(descriptor)
        }
        for descriptor in taken { close(descriptor) }
        if taken.count < files {
            leave(
                CacheError(
                    .unusable, subject: "files",
                    message: "the limit on open files is too low (ulimit -n)"))
        }
        do { try HelperThread.require(threads, room: room) } catch { leave(error) }
    }

    static func requireTransfers() throws(CacheError) {
        try HelperThread.require(transferThreads, room: room)
    }

    /// Ends the program because of a limit, with the status of a command that could not run.
    static func leave(_ error: CacheError) -> Never {
        Console.complain(error.message)
        _exit(1)
    }
}
