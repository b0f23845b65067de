import Foundation
import LarderCache

/// A source that tells when memory is short, so that caches can give some up.
///
/// ``system()`` watches the platform. A source made with ``init()`` is fired by hand, with
/// ``report(_:)``: by a test, or by an app that passes on `didReceiveMemoryWarning`.
public final class MemoryPressure: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`.
    private let lock = NSLock()
    private var handlers: [(number: Int, handler: @Sendable (Level) -> Void)] = []
    private var observations = 0
    private var known: [Input] = []
    /// What ends with this source.
    private var watch: (any Sendable)?

    /// How short memory is.
    public enum Level: Int, Sendable, Comparable {
        /// It is not short any more. Apple's platforms tell, Linux does not.
        case normal
        /// Programs already wait for memory, or a limit is reached: give up what is cheap to have
        /// again.
        case warning
        /// Nothing else goes on, or processes are killed: give up everything that is not in use.
        case critical

        /// Less pressure is less.
        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// Something that a source watches, or would watch if it could.
    public struct Input: Sendable {
        /// What it is: on Linux, the file.
        public let name: String
        /// Why it cannot be watched, or not any more; nil if it is watched.
        public let failure: CacheError?
    }

    /// Makes a source that reports only what ``report(_:)`` is given.
    public init() {}

    /// What is watched, and what could not be. Empty for a source that is fired by hand.
    public var inputs: [Input] { lock.withLock { known } }

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

    /// Tells everybody who observes this source, on the caller's thread.
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

    /// Keeps a watch for as long as this source lives.
    func keep(_ watch: any Sendable) { lock.withLock { self.watch = watch } }

    /// Notes whether an input is watched.
    func note(_ input: String, _ failure: CacheError?) {
        lock.withLock {
            known.removeAll { $0.name == input }
            known.append(Input(name: input, failure: failure))
        }
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
