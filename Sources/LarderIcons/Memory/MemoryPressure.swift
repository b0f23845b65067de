import Foundation

/// A source of memory pressure events. On Linux, the app must report them to ``system()``.
public final class MemoryPressure: @unchecked Sendable {
    // Unchecked because `lock` guards the handlers, and `watch` is set before the source is shared.
    private let lock = NSLock()
    private var handlers: [Int: @Sendable (Level) -> Void] = [:]
    private var observations = 0
    // Not yet compiled on Apple's platforms.
    #if canImport(Darwin)
        private var watch: (any DispatchSourceMemoryPressure)?
    #endif

    /// The level of memory pressure.
    public enum Level: Sendable {
        /// The memory pressure has ended.
        case normal
        /// Memory is low. Free data that is cheap to load again.
        case warning
        /// Memory is almost exhausted. Free all data that is not in use.
        case critical
    }

    /// Creates a source that reports only calls of ``report(_:)``.
    public init() {}

    /// Returns the shared source of the process, which caches observe by default.
    public static func system() -> MemoryPressure { shared }

    private static let shared: MemoryPressure = {
        let source = MemoryPressure()
        #if canImport(Darwin)
            let queue = DispatchQueue(label: "larder.pressure")
            let watch = DispatchSource.makeMemoryPressureSource(eventMask: .all, queue: queue)
            // Weak, because the watch retains its handler and the source retains the watch.
            watch.setEventHandler { [weak source, weak watch] in
                guard let event = watch?.data else { return }
                source?.report(
                    event.contains(.critical)
                        ? .critical : event.contains(.warning) ? .warning : .normal)
            }
            watch.activate()
            source.watch = watch
        #endif
        return source
    }()

    /// Calls `handler` for each event until the observation is released.
    ///
    /// The handler runs on the system source's queue or the thread that calls ``report(_:)``, and
    /// should be short. It may be called once more while the observation is being released, and
    /// must not retain the observation's owner.
    public func observe(_ handler: @escaping @Sendable (Level) -> Void) -> Observation {
        let number = lock.withLock {
            observations += 1
            handlers[observations] = handler
            return observations
        }
        return Observation(of: self, number)
    }

    /// Calls all handlers on the current thread, for example in `didReceiveMemoryWarning`.
    public func report(_ level: Level) {
        // Handlers run without the lock because they may add or end observations.
        for handler in lock.withLock({ Array(handlers.values) }) { handler(level) }
    }

    fileprivate func end(_ number: Int) {
        let ended = lock.withLock { handlers.removeValue(forKey: number) }
        // Freed without the lock, because freeing the handler may end other observations.
        withExtendedLifetime(ended) {}
    }

    /// The registration of a handler. Releasing it removes the handler.
    public final class Observation: Sendable {
        private let source: MemoryPressure
        private let number: Int

        fileprivate init(of source: MemoryPressure, _ number: Int) {
            (self.source, self.number) = (source, number)
        }

        deinit { source.end(number) }
    }
}
