import NIOCore
import Synchronization

/// A value that is rebuilt when it is too old or its source has changed. While one thread builds
/// the value, other threads use the previous value.
final class Rebuilt<Source: Equatable & Sendable, Value: Sendable>: Sendable {
    struct Pace {
        var least = TimeAmount.zero
        /// The minimum lifetime as a multiple of the build time.
        var factor = 0
        /// The maximum lifetime, even with an unchanged source.
        var most: TimeAmount?
        /// Whether a failed build is retried with an unchanged source.
        var retriesFailures = true
    }

    private struct State {
        var value: Value?
        var source: Source?
        var builtAt: NIODeadline?
        var lifetime = TimeAmount.zero
        var isBuilding = false
    }

    private let pace: Pace
    private let state = Mutex(State())

    init(_ pace: Pace) { self.pace = pace }

    var last: Value? { state.withLock { $0.value } }
    var isBuilding: Bool { state.withLock { $0.isBuilding } }

    /// Whether the caller must build the value and call ``end(_:of:since:)``.
    func mustBuild(_ source: Source) -> Bool {
        state.withLock { state in
            if state.isBuilding { return false }
            if let builtAt = state.builtAt {
                let age = NIODeadline.now() - builtAt
                let isOutdated = state.source != source || pace.most.map { age > $0 } == true
                guard age > state.lifetime, isOutdated else { return false }
            }
            state.isBuilding = true
            return true
        }
    }

    /// Ends a build of the earlier `source`. A failed build (nil) keeps the last value.
    func end(_ value: Value?, of source: Source, since start: NIODeadline) {
        state.withLock { state in
            state.isBuilding = false
            state.builtAt = .now()
            state.lifetime = max(pace.least, (.now() - start) * pace.factor)
            state.source = value == nil && pace.retriesFailures ? nil : source
            state.value = value ?? state.value
        }
    }
}
