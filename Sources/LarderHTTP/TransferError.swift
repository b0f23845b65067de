import CCurl
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
        /// Another failure to connect, such as an unreachable network.
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
        /// The receiver refused the rest of the response.
        case abandoned
        case outOfFiles = "out-of-files"
        case invalidRequest = "invalid-request"
        case other
    }

    /// Replaces control characters in `message` with `?`, because it may quote a server.
    package init(_ code: Code, url: HTTPURL? = nil, _ message: String) {
        let controls: [Unicode.GeneralCategory] = [
            .control, .format, .lineSeparator, .paragraphSeparator,
        ]
        let scalars: [Unicode.Scalar] = message.unicodeScalars.map {
            controls.contains($0.properties.generalCategory) ? "?" : $0
        }
        (self.code, self.url) = (code, url)
        self.message = String(String.UnicodeScalarView(scalars))
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

    /// ``EasyHandle`` distinguishes the causes of failed connections and timeouts.
    package init(curlCode: UInt32) {
        self =
            switch CURLcode(curlCode) {
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .nameNotResolved
            // CURLE_PROXY: a SOCKS proxy refused or failed.
            case CURLE_COULDNT_CONNECT, CURLE_PROXY: .connectFailed
            case CURLE_OPERATION_TIMEDOUT: .timeout
            case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR,
                CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
                .certificate
            case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
                CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
                CURLE_SSL_CACERT_BADFILE, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE,
                CURLE_SSL_CLIENTCERT:
                .tls
            case CURLE_PARTIAL_FILE: .bodyTruncated
            case CURLE_FILESIZE_EXCEEDED: .tooLarge
            // libcurl reports an unsupported protocol for HTTP/0.9, which has no head.
            case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING:
                .malformedResponse
            case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2,
                CURLE_HTTP2_STREAM, CURLE_HTTP3, CURLE_QUIC_CONNECT_ERROR:
                .connectionLost
            case CURLE_URL_MALFORMAT: .invalidRequest
            default: .other
            }
    }
}

extension CURLcode {
    var text: String { "\(String(cString: curl_easy_strerror(self))) (curl \(rawValue))" }
}
