import Foundation

/// A source of reports that memory is short, so that caches give some up.
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

    /// How short memory is.
    public enum Level: Int, Sendable, Comparable {
        /// Memory is not short any more.
        case normal
        /// Memory is getting short: give up what is cheap to have again.
        case warning
        /// Memory is used up: give up everything that is not in use.
        case critical

        /// Less pressure is less.
        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// Makes a source that reports only what ``report(_:)`` is given.
    public init() {}

    /// Returns the source of the process, which caches observe by default. On Linux it reports only
    /// what ``report(_:)`` is given.
    public static func system() -> MemoryPressure { shared }

    private static let shared: MemoryPressure = {
        let source = MemoryPressure()
        #if canImport(Darwin)
            source.watch = DispatchWatch(of: source)
        #endif
        return source
    }()

    /// Calls `handler` at each report, for as long as the observation is kept.
    ///
    /// The handler is called on the thread of the source or of who reports, and should be brief. It
    /// may be called once more while its observation ends. The observation keeps the source, so an
    /// object that keeps the observation must not be kept by the handler.
    public func observe(_ handler: @escaping @Sendable (Level) -> Void) -> Observation {
        let number = lock.withLock {
            observations += 1
            handlers.append((observations, handler))
            return observations
        }
        return Observation(of: self, number)
    }

    /// Calls all handlers, on the caller's thread. For example, an app passes on a
    /// `didReceiveMemoryWarning`.
    public func report(_ level: Level) {
        // Called without the lock, because a handler may observe or end an observation.
        for handler in lock.withLock({ handlers.map(\.handler) }) { handler(level) }
    }

    fileprivate func end(_ number: Int) {
        let ended = lock.withLock {
            handlers.firstIndex { $0.number == number }.map { handlers.remove(at: $0) }
        }
        // What the handler keeps may end other observations as it goes.
        withExtendedLifetime(ended) {}
    }
}

extension MemoryPressure {
    /// A handler's place at its source. The handler is called no more when this is released.
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
