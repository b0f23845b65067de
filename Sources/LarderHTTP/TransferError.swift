import LarderCore

package struct TransferError: Error, Hashable, Sendable, CustomStringConvertible {
    package var code: Code
    package var url: HTTPURL?
    /// The reason in one line, without control characters or the URL.
    package var message: String

    /// The kind of error. Reports contain the raw values.
    package enum Code: String, CaseIterable, Sendable {
        case nameNotResolved = "name-not-resolved"
        case connectionRefused = "connection-refused"
        case connectFailed = "connect-failed"
        case connectTimeout = "connect-timeout"
        case stalled
        case timeout
        case certificate
        case tls
        /// The proxy requires different credentials, or forbids the URL.
        case proxyRefused = "proxy-refused"
        case addressRefused = "address-refused"
        case bodyTruncated = "body-truncated"
        case tooLarge = "too-large"
        case headersTooLarge = "headers-too-large"
        case malformedResponse = "malformed-response"
        case connectionLost = "connection-lost"
        case cancelled
        case abandoned
        case outOfFiles = "out-of-files"
        case invalidRequest = "invalid-request"
        case other
    }

    /// Escapes control characters in `message`, because it may quote a server.
    package init(_ code: Code, url: HTTPURL? = nil, _ message: String) {
        (self.code, self.url, self.message) = (code, url, message.sanitizedForTerminal)
    }

    package static func bodyTooLong(limit: Int64) -> TransferError {
        TransferError(.tooLarge, "the body exceeds the limit of \(limit) bytes")
    }

    package var description: String { url.map { "\($0): \(message)" } ?? message }
}

extension TransferError.Code {
    package var isTransient: Bool {
        isUnreachable || [.stalled, .timeout, .bodyTruncated, .connectionLost].contains(self)
    }

    package var isUnreachable: Bool {
        [.nameNotResolved, .connectionRefused, .connectFailed, .connectTimeout].contains(self)
    }
}
