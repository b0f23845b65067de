import Foundation

extension MemoryPressure {
    /// The source that watches the platform: one for the whole process, for as long as somebody
    /// keeps it or an observation of it.
    ///
    /// - On Apple's platforms, it is a dispatch source of memory pressure.
    /// - On Linux, it is the kernel's pressure stall information: a warning if something waited for
    ///   memory for 10 % of two seconds, and critical if everything did. And it is the
    ///   `memory.events` of the process's own control group (version 2): a warning if `high` or
    ///   `max` is reached and not only with cached files, and critical if memory is used up
    ///   (`oom`). It reports at most once in two seconds, on a thread of its own, and returns the
    ///   allocator's free memory to the system afterwards.
    ///
    /// Kernels and containers may lack either, or refuse it: ``inputs`` says so.
    public static func system() -> MemoryPressure { shared.source() }

    private static let shared = SharedSource()

    /// The source, if there is one now.
    private final class SharedSource: @unchecked Sendable {
        // Unchecked because `current` is a variable; every access holds `lock`.
        private let lock = NSLock()
        private weak var current: MemoryPressure?

        func source() -> MemoryPressure {
            lock.withLock {
                if let current { return current }
                let source = MemoryPressure()
                #if canImport(Darwin)
                    source.keep(DispatchWatch(of: source))
                #elseif os(Linux)
                    source.watch(PressureFiles())
                #endif
                current = source
                return source
            }
        }
    }
}
