/// Why a transfer ended without its whole body.
package struct TransferError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason, as programs see it.
    package var code: Code
    /// What was asked for; `nil` if the loop itself could not start.
    package var url: HTTPURL?
    /// The reason for people, in one line without control characters and without the URL.
    package var message: String

    /// The reasons. Their raw values are the failure reasons in reports.
    package enum Code: String, CaseIterable, Sendable {
        /// The host name has no address.
        case nameNotResolved = "name-not-resolved"
        /// The server's machine answered that nobody listens there.
        case connectionRefused = "connection-refused"
        /// No connection, for another reason, such as an unreachable network.
        case connectFailed = "connect-failed"
        /// No connection within ``TransferConfiguration/connectTimeout``.
        case connectTimeout = "connect-timeout"
        /// Slower than ``TransferConfiguration/stallSpeed`` for too long.
        case stalled
        /// Longer than ``TransferConfiguration/totalTimeout``.
        case timeout
        /// The server's certificate does not verify.
        case certificate
        /// Another failure of TLS.
        case tls
        /// The proxy answered that it will not: it wants other credentials, or forbids the URL.
        case proxyRefused = "proxy-refused"
        /// ``TransferConfiguration/addressPolicy`` refuses the URL, or every address of its host.
        case addressRefused = "address-refused"
        /// The body is shorter than was announced.
        case bodyTruncated = "body-truncated"
        /// The body is, or is announced to be, longer than the request's limit.
        case tooLarge = "too-large"
        /// The head is longer than ``TransferConfiguration/maximumHeaderBytes``, or has more than
        /// ``TransferConfiguration/maximumHeaderFields``.
        case headersTooLarge = "headers-too-large"
        /// What came is not HTTP, or its content encoding is broken.
        case malformedResponse = "malformed-response"
        /// The connection, or the HTTP/2 stream, was lost under way.
        case connectionLost = "connection-lost"
        /// Cancelled, or the loop was shut down.
        case cancelled
        /// The receiver wanted no more.
        case abandoned
        /// The process has no file descriptor left.
        case outOfFiles = "out-of-files"
        /// The request cannot be sent as it is.
        case invalidRequest = "invalid-request"
        /// Anything else; see the message.
        case other
    }

    /// An error; control characters in `message`, which may quote a server, become `?`.
    package init(code: Code, url: HTTPURL? = nil, message: String) {
        self.code = code
        self.url = url
        self.message = message.replacingControlCharacters()
    }

    /// A body is, or is announced to be, longer than its request's limit.
    package static func bodyTooLong(limit: Int64) -> TransferError {
        TransferError(
            code: .tooLarge, message: "the body is longer than the \(limit) bytes allowed")
    }

    /// URL, credentials masked, and message.
    package var description: String {
        url.map { "\($0): \(message)" } ?? message
    }
}

extension String {
    fileprivate func replacingControlCharacters() -> String {
        func isControl(_ scalar: Unicode.Scalar) -> Bool {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: true
            default: false
            }
        }
        guard unicodeScalars.contains(where: isControl) else { return self }
        var shown = UnicodeScalarView()
        shown.append(contentsOf: unicodeScalars.lazy.map { isControl($0) ? "?" : $0 })
        return String(shown)
    }
}
