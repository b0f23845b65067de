import LarderTransfer

/// How an origin took a request.
enum HostSign: Sendable {
    /// It answered, whatever it said.
    case answered
    /// It answered, with a status, that it wants no request for so long, from an instant on.
    case held(Duration, since: ContinuousClock.Instant, status: Int)
    /// It did not answer at all.
    case silent
    /// The request was never made, or was given up on our side: no sign at all.
    case none

    /// - Parameters:
    ///   - head: the response's head, as far as one came.
    ///   - error: why the transfer failed, if it did.
    init(head: ResponseHead?, error: TransferError?) {
        if let head {
            let mayPass = RetryPolicy.retriedStatuses.contains(head.status)
            let delay = mayPass ? RetryAfter.delay(of: head) : nil
            self = delay.map { .held($0, since: .now, status: head.status) } ?? .answered
            return
        }
        self =
            switch error?.code {
            case .nameNotResolved, .connectionRefused, .connectFailed, .connectTimeout, .stalled,
                .timeout:
                .silent
            case .cancelled, .abandoned, .invalidRequest, .outOfFiles, nil: .none
            default: .answered
            }
    }
}
