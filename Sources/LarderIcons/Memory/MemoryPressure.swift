import Foundation

/// A source of reports that memory is short, to which caches respond.
///
/// ``system()`` reports what Apple's platforms report. On Linux, an app calls its ``report(_:)``.
public final class MemoryPressure: @unchecked Sendable {
    // Unchecked because the state is variables: every access to the handlers holds `lock`, and
    // `watch` is set before others have the source.
    private let lock = NSLock()
    private var handlers: [(number: Int, handler: @Sendable (Level) -> Void)] = []
    private var observations = 0
    #if canImport(Darwin)
        private var watch: DispatchWatch?
    #endif

    /// The level of memory pressure.
    public enum Level: Int, Sendable, Comparable {
        /// Memory is no longer short.
        case normal
        /// Memory is getting short: free what is cheap to load again.
        case warning
        /// Memory is used up: free everything that is not in use.
        case critical

        /// Whether `left` is the lower level.
        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// Makes a source that reports only what ``report(_:)`` receives.
    public init() {}

    /// Returns the source of the process, which caches observe by default.
    public static func system() -> MemoryPressure { shared }

    private static let shared: MemoryPressure = {
        let source = MemoryPressure()
        #if canImport(Darwin)
            source.watch = DispatchWatch(of: source)
        #endif
        return source
    }()

    /// Calls `handler` at each report until the observation is released.
    ///
    /// The handler is called on the thread of the source or of ``report(_:)``, and should be brief.
    /// It may be called once more while its observation ends. The observation retains the source,
    /// so the handler must not retain the owner of the observation.
    public func observe(_ handler: @escaping @Sendable (Level) -> Void) -> Observation {
        let number = lock.withLock {
            observations += 1
            handlers.append((observations, handler))
            return observations
        }
        return Observation(of: self, number)
    }

    /// Calls all handlers on this thread, for example after `didReceiveMemoryWarning`.
    public func report(_ level: Level) {
        // Called without the lock, because a handler may observe or end an observation.
        for handler in lock.withLock({ handlers.map(\.handler) }) { handler(level) }
    }

    fileprivate func end(_ number: Int) {
        let ended = lock.withLock {
            handlers.firstIndex { $0.number == number }.map { handlers.remove(at: $0) }
        }
        // Without the lock, because releasing the handler may end other observations.
        withExtendedLifetime(ended) {}
    }

    /// The registration of a handler, which is no longer called when this is released.
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

#if canImport(Darwin)
    private final class DispatchWatch: @unchecked Sendable {
        // Unchecked because dispatch sources are not marked; this one is only set up and cancelled.
        private let source: any DispatchSourceMemoryPressure

        init(of pressure: MemoryPressure) {
            let queue = DispatchQueue(label: "larder.pressure")
            source = DispatchSource.makeMemoryPressureSource(eventMask: .all, queue: queue)
            // Weak, both: the source keeps its handler, and `pressure` keeps the source.
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
