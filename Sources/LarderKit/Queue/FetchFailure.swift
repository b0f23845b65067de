import LarderCache
import LarderTransfer

/// Why a URL could not be fetched.
public struct FetchFailure: Error, Sendable, Equatable {
    /// The reason's name, as reports count it: `http-404`, `body-truncated`, `not-an-image`, …
    public let code: String
    /// The reason in words.
    public let message: String
    /// Whether another attempt may succeed.
    public let isTransient: Bool
    /// Whether the origin did not answer at all.
    let isSilence: Bool

    /// The reasons that neither the transfer nor the image check names.
    enum Reason: String, CaseIterable {
        case integrity = "integrity-mismatch"
        case size = "size-mismatch"
        case redirects = "too-many-redirects"
        case badRedirect = "redirect-refused"
        case storage
        case cancelled
    }

    init(_ reason: Reason, _ message: String) {
        self.init(code: reason.rawValue, message: message, isTransient: false)
    }

    init(code: String, message: String, isTransient: Bool, isSilence: Bool = false) {
        self.code = code
        self.message = message
        self.isTransient = isTransient
        self.isSilence = isSilence
    }

    /// A status other than the ones that carry an icon. 5xx answers may pass, but for those that
    /// say "never".
    init(status: Int) {
        let isTransient = (500...599).contains(status) && ![501, 505, 511].contains(status)
        self.init(
            code: "http-\(status)", message: "the server answered with status \(status)",
            isTransient: isTransient || [408, 425, 429].contains(status))
    }

    init(_ error: TransferError) {
        let isTransient =
            switch error.code {
            case .nameNotResolved, .connectionRefused, .connectFailed, .connectTimeout, .stalled,
                .timeout, .bodyTruncated, .connectionLost:
                true
            default: false
            }
        let isSilence =
            switch error.code {
            case .nameNotResolved, .connectionRefused, .connectFailed, .connectTimeout, .stalled,
                .timeout:
                true
            default: false
            }
        self.init(
            code: error.code.rawValue, message: error.message, isTransient: isTransient,
            isSilence: isSilence)
    }

    init(_ fault: ImageFault) {
        self.init(code: fault.code.rawValue, message: fault.message, isTransient: false)
    }

    init(_ error: CacheError) {
        self.init(.storage, error.description)
    }
}
