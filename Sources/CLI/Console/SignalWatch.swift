import CLarderGuard
import Foundation
import LarderCache
import Synchronization

/// Calls a handler for each signal of one number, which from then on does nothing else.
///
/// All handlers run on one thread, which is started with the first watch. A dispatch source would
/// have to start one when the signal arrives, and would wait if the system has none to give.
enum SignalWatch {
    private static let handlers = Mutex<[Int32: @Sendable () -> Void]>([:])
    private static let hasThread = Mutex(false)

    /// Watches from now on.
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
