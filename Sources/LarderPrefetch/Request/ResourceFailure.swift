import LarderCache
import LarderHTTP
import LarderImages

/// Why a URL could not be fetched.
package struct ResourceFailure: Error, Sendable, Equatable {
    /// The reason's name, as reports count it: `http-404`, `body-truncated`, `not-an-image`, …
    package let code: String
    /// The reason in words.
    package let message: String
    /// Whether another attempt may succeed.
    package let isTransient: Bool
    /// The status, if the failure consists of one.
    let status: Int?
    /// How long the server asks to be left alone.
    var retryAfter: Duration?

    /// Whether another attempt must ask for the bytes whatever the cache has: it lost what it had,
    /// or the origin vouched for something else.
    var asksUnconditionally: Bool {
        [Reason.evicted, .validator].contains { $0.rawValue == code }
    }

    /// Whether it says something of the resource, to be remembered for later runs, and not of this
    /// one.
    var isRemembered: Bool {
        let ours: [Reason] = [.cancelled, .storage, .obstructed, .evicted, .notInRemote]
        let transfers: [TransferError.Code] = [.cancelled, .abandoned, .outOfFiles]
        return !(ours.map(\.rawValue) + transfers.map(\.rawValue)).contains(code)
    }

    /// The reasons that neither the transfer nor the image check names.
    enum Reason: String, CaseIterable {
        case integrity = "integrity-mismatch"
        case size = "size-mismatch"
        case redirects = "too-many-redirects"
        case badRedirect = "redirect-refused"
        /// A part of the body was asked for and something else came.
        case range = "range-mismatch"
        /// The URL's host was given up, whatever became of the URL itself.
        case hostUnavailable = "host-unavailable"
        case validator = "validator-mismatch"
        case evicted
        case storage
        /// Something else is in the object's place.
        case obstructed
        case cancelled
        /// The remote does not have it, and nothing else is asked.
        case notInRemote = "not-in-remote"
    }

    /// The same for a fetch that has no time left for another attempt.
    var outOfTime: ResourceFailure {
        ResourceFailure(
            code: code, message: message + "; --retry-max-time allows no other attempt",
            isTransient: false, status: status)
    }

    /// Whether a server has said by it that it has too much to do.
    var isOverload: Bool { status.map(RetryPolicy.overloadStatuses.contains) ?? false }

    init(_ reason: Reason, _ message: String) {
        let isTransient = [.range, .validator, .evicted].contains(reason)
        self.init(code: reason.rawValue, message: message, isTransient: isTransient)
    }

    init(code: String, message: String, isTransient: Bool, status: Int? = nil) {
        self.code = code
        self.message = message
        self.isTransient = isTransient
        self.status = status
    }

    /// A status other than the ones that carry an icon.
    init(status: Int, retryAfter: Duration? = nil) {
        self.init(
            code: "http-\(status)", message: "the server answered with status \(status)",
            isTransient: RetryPolicy.retriedStatuses.contains(status), status: status)
        self.retryAfter = retryAfter
    }

    /// Why a remote did not give it.
    init(_ error: RemoteError) {
        self.init(
            code: error.code.rawValue, message: error.description, isTransient: error.isTransient)
    }

    init(_ error: TransferError) {
        self.init(
            code: error.code.rawValue, message: error.message,
            isTransient: error.code.isTransient)
    }

    /// - Parameter mayBeCut: whether nothing told where the body ends.
    init(_ fault: ImageFault, mayBeCut: Bool) {
        self.init(
            code: fault.code.rawValue, message: fault.message,
            isTransient: mayBeCut && fault.code == .truncated)
    }

    /// Why one deposit was not recorded; nil if nothing can be recorded any more.
    init?(ofDeposit error: CacheError) {
        switch error.code {
        case .missing: self.init(.evicted, error.description)
        case .obstructed: self.init(.obstructed, error.description)
        default: return nil
        }
    }
}
