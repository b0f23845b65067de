import NIOCore
import Synchronization

/// A value that is built again once its source has changed, or once it is too old. One thread
/// builds it at a time. Others can use the last value in the meantime.
final class Rebuilt<Source: Equatable & Sendable, Value: Sendable>: Sendable {
    struct Pace {
        /// A value is used for at least this time.
        var least = TimeAmount.zero
        /// A value is used for at least this multiple of the time that its build took.
        var factor = 0
        /// A value is used for at most this time, even if its source is the same. Nil: no limit.
        var most: TimeAmount?
        /// Whether a build that failed is tried again although its source has not changed.
        var retriesFailures = true
    }

    enum Step {
        /// The caller builds the value, and calls ``end(_:of:since:)``.
        case build
        case building
        /// The last value is still to be used. Nil if its build failed.
        case last(Value?)
    }

    private struct State {
        var value: Value?
        var source: Source?
        var builtAt: NIODeadline?
        var lifetime: TimeAmount
        var isBuilding = false
    }

    private let pace: Pace
    private let state: Mutex<State>

    init(_ pace: Pace) {
        self.pace = pace
        state = Mutex(State(lifetime: pace.least))
    }

    var last: Value? { state.withLock { $0.value } }

    func step(_ source: Source) -> Step {
        state.withLock { state in
            if state.isBuilding { return .building }
            if let builtAt = state.builtAt {
                let age = NIODeadline.now() - builtAt
                let isOutdated = state.source != source || pace.most.map { age > $0 } == true
                guard age > state.lifetime, isOutdated else { return .last(state.value) }
            }
            state.isBuilding = true
            return .build
        }
    }

    /// Ends a build that ``step(_:)`` asked for. `source` is as it was before the build. If `value`
    /// is nil, the build has failed, and the last value stays.
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
