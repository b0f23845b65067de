import LarderS3
import Synchronization

/// Counts what a run has to do with a remote, from whichever thread, and knows when it is no use to
/// go on.
final class RemoteTally: Sendable {
    private let state: Mutex<State>
    private let onGivenUp: @Sendable () -> Void

    private struct State {
        var report: RemoteReport
        var failure: StorageError?
    }

    /// - Parameter onGivenUp: called once if nothing more is asked of the remote.
    init(_ location: String, onGivenUp: @escaping @Sendable () -> Void) {
        state = Mutex(State(report: RemoteReport(location: location)))
        self.onGivenUp = onGivenUp
    }

    var report: RemoteReport { state.withLock { $0.report } }

    /// Why nothing more is asked of it; nil if it is.
    var failure: StorageError? { state.withLock { $0.failure } }

    var isGivenUp: Bool { failure != nil }

    func count(_ change: (inout RemoteReport) -> Void) { state.withLock { change(&$0.report) } }

    /// Notes what went wrong with one object. If it is the store itself, which has been tried often
    /// enough by then, nothing more is asked of it.
    func note(_ error: StorageError) {
        let isFirst = state.withLock { state in
            guard error.isTransient || error.isPermanent else {
                state.report.faults[error.code.rawValue, default: 0] += 1
                state.report.firstFault = state.report.firstFault ?? error.description
                return false
            }
            guard state.failure == nil else { return false }
            state.failure = error
            state.report.failure = error.description
            return true
        }
        if isFirst { onGivenUp() }
    }
}
