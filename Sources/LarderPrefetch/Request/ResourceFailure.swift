import LarderCache
import LarderHTTP

package struct ResourceFailure: RetriableFailure, Equatable {
    /// The name in reports, for example `http-404` or `not-an-image`.
    package let code: String
    package let message: String
    package let isTransient: Bool
    var status: Int?
    package var retryAfter: Duration?
    var asksUnconditionally: Bool { [Reason.evicted, .validator].contains { $0.rawValue == code } }

    /// Whether the resource caused the failure, which is then recorded for later runs.
    var isRemembered: Bool {
        let ours: [Reason] = [.cancelled, .storage, .obstructed, .evicted, .notInRemote]
        let transfers: [TransferError.Code] = [.cancelled, .abandoned, .outOfFiles]
        return !(ours.map(\.rawValue) + transfers.map(\.rawValue)).contains(code)
    }

    enum Reason: String, CaseIterable {
        case integrity = "integrity-mismatch"
        case size = "size-mismatch"
        case redirects = "too-many-redirects"
        case badRedirect = "redirect-refused"
        case range = "range-mismatch"
        case hostUnavailable = "host-unavailable"
        case validator = "validator-mismatch"
        case evicted
        case storage
        case obstructed
        case cancelled
        case notInRemote = "not-in-remote"
    }

    package var outOfTime: ResourceFailure {
        ResourceFailure(
            code: code, message: message + "; --retry-max-time allows no further attempt",
            isTransient: false, status: status)
    }

    package var isOverload: Bool { status.map(RetryPolicy.overloadStatuses.contains) ?? false }
}

extension ResourceFailure {
    init(_ reason: Reason, _ message: String, status: Int? = nil) {
        let isTransient = [.range, .validator, .evicted].contains(reason)
        self.init(code: reason.rawValue, message: message, isTransient: isTransient, status: status)
    }

    init(status: Int, retryAfter: Duration? = nil) {
        self.init(
            code: "http-\(status)", message: "the server answered with status \(status)",
            isTransient: RetryPolicy.retriedStatuses.contains(status), status: status,
            retryAfter: retryAfter)
    }

    init(_ error: RemoteError) {
        self.init(
            code: error.code.rawValue, message: error.description, isTransient: error.isTransient)
    }

    init(_ error: TransferError) {
        self.init(
            code: error.code.rawValue, message: error.message, isTransient: error.code.isTransient)
    }

    /// Returns nil if the whole cache is unusable.
    init?(ofDeposit error: CacheError) {
        switch error.code {
        case .missing: self.init(.evicted, error.description)
        case .obstructed: self.init(.obstructed, error.description)
        default: return nil
        }
    }
}
