import CLarderGuard
import Foundation
import LarderCache
import LarderServer
import Synchronization

#if canImport(Glibc)
    import CLarderSystem
#endif

enum ProcessMemory {
    /// Saves 10 MB of a run's 58 MB. Must be called before threads start.
    static func keepHeapsSmall() {
        #if canImport(Glibc)
            mallopt(M_ARENA_MAX, 2)
            mallopt(M_MMAP_THRESHOLD, 128 << 10)
            mallopt(M_TRIM_THRESHOLD, 128 << 10)
            larder_sqlite_save_memory()
        #endif
    }

    /// Frees the memory pages of code and constants, many of which are used only to load the
    /// program, parse its arguments or plan a run. Does nothing in a debug build: a debugger writes
    /// breakpoints into these pages.
    static func releaseText() {
        #if !DEBUG
            larder_release_text()
        #endif
    }
}

/// Signal handlers. A dispatch source would hang if it could not start a thread.
enum SignalWatch {
    private static let handlers = Mutex<[Int32: @Sendable () -> Void]>([:])

    static func start(_ number: Int32, _ handler: @escaping @Sendable () -> Void) {
        let isFirst = handlers.withLock { handlers in
            defer { handlers[number] = handler }
            return handlers.isEmpty
        }
        let pipe = larder_watch_signal(number)
        guard pipe >= 0 else {
            ProcessLimits.leave(CacheError("pipe", subject: "signals", errno: errno).message)
        }
        if isFirst, !HelperThread.start({ handleAll(pipe) }) {
            ProcessLimits.leave(HelperThread.shortage.message)
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

/// Limits that are checked first, because a run that reaches them may be unable to report it.
enum ProcessLimits {
    /// Includes the files of libdispatch, which traps (SIGILL) if no descriptor is free.
    private static let files = 24
    /// Includes the threads for signals and libdispatch.
    private static let threads = 4

    static func requireSome() {
        if OpenFileLimit.free(upTo: files) < files {
            leave("the limit on open files is too low (ulimit -n)")
        }
        do { try HelperThread.require(threads) } catch { leave(error.message) }
    }

    static func leave(_ message: String) -> Never {
        Console.complain(message)
        _exit(ExitStatus.couldNotRun.rawValue)
    }
}
