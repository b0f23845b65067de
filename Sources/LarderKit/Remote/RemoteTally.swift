import LarderS3
import Synchronization

/// Counts what a run has to do with a remote, from whichever thread, and knows when it is no use to
/// go on.
final class RemoteTally: Sendable {
    private let state: Mutex<RemoteReport>
    private let onGivenUp: @Sendable () -> Void

    /// - Parameter onGivenUp: called once if nothing more is asked of the remote.
    init(_ location: String, onGivenUp: @escaping @Sendable () -> Void) {
        state = Mutex(RemoteReport(location: location))
        self.onGivenUp = onGivenUp
    }

    var report: RemoteReport { state.withLock { $0 } }

    var isGivenUp: Bool { state.withLock { $0.failure != nil } }

    func count(_ change: (inout RemoteReport) -> Void) { state.withLock { change(&$0) } }

    /// Notes what went wrong with one object. If it is the store itself, which has been tried often
    /// enough by then, nothing more is asked of it.
    func note(_ error: StorageError) {
        let isFirst = state.withLock { report in
            guard error.isTransient || error.isPermanent else {
                report.faults[error.code.rawValue, default: 0] += 1
                report.firstFault = report.firstFault ?? error.description
                return false
            }
            defer { report.failure = report.failure ?? error.description }
            return report.failure == nil
        }
        if isFirst { onGivenUp() }
    }
}
