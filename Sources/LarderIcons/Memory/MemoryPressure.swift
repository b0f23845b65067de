import Foundation

/// A source of memory pressure events.
///
/// On Apple's platforms, ``system()`` reports the system's events. On Linux, the app must call
/// ``report(_:)``.
public final class MemoryPressure: @unchecked Sendable {
    // Unchecked because `lock` guards the handlers, and `watch` is set before the source is shared.
    private let lock = NSLock()
    private var handlers: [(number: Int, handler: @Sendable (Level) -> Void)] = []
    private var observations = 0
    #if canImport(Darwin)
        private var watch: DispatchWatch?
    #endif

    /// The level of memory pressure.
    public enum Level: Int, Sendable, Comparable {
        /// The memory pressure has ended.
        case normal
        /// Memory is low. Free data that is cheap to load again.
        case warning
        /// Memory is almost exhausted. Free all data that is not in use.
        case critical

        /// Whether `left` is the lower level.
        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// Creates a source that reports only calls of ``report(_:)``.
    public init() {}

    /// Returns the shared source of the process, which caches observe by default.
    public static func system() -> MemoryPressure { shared }

    private static let shared: MemoryPressure = {
        let source = MemoryPressure()
        #if canImport(Darwin)
            source.watch = DispatchWatch(of: source)
        #endif
        return source
    }()

    /// Calls `handler` for each event until the observation is released.
    ///
    /// The handler runs on the system source's queue or the thread that calls ``report(_:)``, and
    /// should be short. It may be called once more while the observation is released, and must not
    /// retain the observation's owner.
    public func observe(_ handler: @escaping @Sendable (Level) -> Void) -> Observation {
        let number = lock.withLock {
            observations += 1
            handlers.append((observations, handler))
            return observations
        }
        return Observation(of: self, number)
    }

    /// Calls all handlers on the current thread, for example in `didReceiveMemoryWarning`.
    public func report(_ level: Level) {
        // Handlers run without the lock because they may add or end observations.
        for handler in lock.withLock({ handlers.map(\.handler) }) { handler(level) }
    }

    fileprivate func end(_ number: Int) {
        let ended = lock.withLock {
            handlers.firstIndex { $0.number == number }.map { handlers.remove(at: $0) }
        }
        // Freed without the lock, because freeing the handler may end other observations.
        withExtendedLifetime(ended) {}
    }

    /// The registration of a handler. Releasing it removes the handler.
    public final class Observation: Sendable {
        private let source: MemoryPressure
        private let number: Int

        fileprivate init(of source: MemoryPressure, _ number: Int) {
            self.source = source
            self.number = number
        }

        deinit { source.end(number) }
    }
}

// Not yet compiled on Apple's platforms.
#if canImport(Darwin)
    private final class DispatchWatch: @unchecked Sendable {
        // Unchecked because dispatch sources are not `Sendable`. This source is only set up and
        // cancelled.
        private let source: any DispatchSourceMemoryPressure

        init(of pressure: MemoryPressure) {
            let queue = DispatchQueue(label: "larder.pressure")
            source = DispatchSource.makeMemoryPressureSource(eventMask: .all, queue: queue)
            // Weak, because the source retains its handler and `pressure` retains the source.
            source.setEventHandler { [weak source, weak pressure] in
                guard let event = source?.data else { return }
                pressure?.report(
                    event.contains(.critical)
                        ? .critical : event.contains(.warning) ? .warning : .normal)
            }
            source.activate()
        }

        deinit { source.cancel() }
    }
#endif
