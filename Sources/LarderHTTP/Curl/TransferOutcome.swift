import CCurl
import Foundation

extension EasyHandle {
    func outcome(of transfer: Transfer, _ result: CURLcode) -> TransferResult {
        if let reason = transfer.reason { return .failure(reason) }
        guard result == CURLE_OK else {
            let code = code(of: transfer, result)
            return .failure(TransferError(code, message(of: transfer, result, code)))
        }
        if transfer.isHeldBack, !transfer.order.request.onlyConnects {
            return .failure(
                TransferError(.connectionLost, "the connection was lost before a response"))
        }
        return transfer.isWhole
            ? .success(metrics)
            : .failure(TransferError(.bodyTruncated, "the encoded body ends early"))
    }

    private func code(of transfer: Transfer, _ result: CURLcode) -> TransferError.Code {
        switch result {
        case _ where isRefusedByProxy(result): .proxyRefused
        case _ where proxyStatus.map { $0 >= 300 } ?? false: .connectFailed
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            Self.isOutOfFiles ? .outOfFiles : .nameNotResolved
        case CURLE_COULDNT_CONNECT where transfer.isOutOfFiles: .outOfFiles
        case CURLE_COULDNT_CONNECT where transfer.refusal != nil: .addressRefused
        case CURLE_COULDNT_CONNECT where systemError == ECONNREFUSED: .connectionRefused
        // CURLE_PROXY: a SOCKS proxy failed.
        case CURLE_COULDNT_CONNECT, CURLE_PROXY: .connectFailed
        case CURLE_OPERATION_TIMEDOUT: timeoutCode
        case CURLE_PEER_FAILED_VERIFICATION: .certificate
        case CURLE_SSL_CONNECT_ERROR where isLostInHandshake: .connectionLost
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CLIENTCERT:
            .tls
        case CURLE_PARTIAL_FILE: .bodyTruncated
        case CURLE_FILESIZE_EXCEEDED: .tooLarge
        // Older versions of libcurl return CURLE_OUT_OF_MEMORY for a header line over 100 KB.
        case CURLE_OUT_OF_MEMORY where isConnected && !transfer.hasHead: .headersTooLarge
        // libcurl has no code for an overlong trailer.
        case CURLE_RECV_ERROR where errorMessage.hasPrefix("Out of memory in chunked"):
            .headersTooLarge
        // libcurl reports an unsupported protocol for HTTP/0.9, which has no head.
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING:
            .malformedResponse
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM:
            .connectionLost
        case CURLE_URL_MALFORMAT: .invalidRequest
        default: .other
        }
    }

    /// Whether the proxy refused the request. Other proxy failures are retried.
    private func isRefusedByProxy(_ result: CURLcode) -> Bool {
        if let proxyStatus { return (400..<500).contains(proxyStatus) }
        guard result == CURLE_PROXY else { return false }
        return switch proxyError {
        case CURLPX_REPLY_CONNECTION_REFUSED, CURLPX_REPLY_GENERAL_SERVER_FAILURE,
            CURLPX_REPLY_HOST_UNREACHABLE, CURLPX_REPLY_NETWORK_UNREACHABLE,
            CURLPX_REPLY_TTL_EXPIRED, CURLPX_RESOLVE_HOST, CURLPX_CLOSED:
            false
        default: true
        }
    }

    /// If the connection ends without a reset, OpenSSL reports `SSL_ERROR_SYSCALL`.
    private var isLostInHandshake: Bool {
        [ECONNRESET, ECONNABORTED, EPIPE].contains(systemError)
            || errorMessage.contains("SSL_ERROR_SYSCALL")
    }

    private var timeoutCode: TransferError.Code {
        // Adds 1 ms, because libcurl's times are in whole milliseconds.
        let isOver = elapsed + .milliseconds(1) >= configuration.totalTimeout
        if isOver, configuration.maximumBytesPerSecond == nil { return .timeout }
        return isConnected ? .stalled : .connectTimeout
    }

    private func message(
        of transfer: Transfer, _ result: CURLcode, _ code: TransferError.Code
    ) -> String {
        if code == .addressRefused, let refusal = transfer.refusal {
            return AddressPolicy.advised(refusal, transfer.order.request.url)
        }
        if code == .outOfFiles { return "the process has no free file descriptors" }
        if code == .headersTooLarge { return "the response's head is too long" }
        let words = errorMessage.isEmpty ? result.text : errorMessage
        var advice = ""
        if code == .certificate || code == .tls {
            let text = words.replacing(transfer.order.request.url.host, with: "")
            let plain = ["wrong version number", "packet length too long"]
            let unknown = ["self-signed", "self signed", "unable to get local issuer"]
            if plain.contains(where: text.contains) {
                advice = "; the server or proxy seems to use http; write http:// in its URL"
            } else if unknown.contains(where: text.contains) {
                advice = "; use --ca-cert FILE to trust the certificate authority in FILE"
            }
        }
        guard let proxy = transfer.proxy, !isConnected else {
            return code == .connectionRefused
                ? words + "; check the port in the URL, and that the server is running"
                : words + advice
        }
        if let proxyStatus, proxyStatus >= 300 {
            return "the proxy \(proxy) answered with status \(proxyStatus)"
        }
        return "through the proxy \(proxy): \(words)\(advice)"
    }

    /// Whether no file descriptor is free. A lookup then fails as if the name were unknown.
    private static var isOutOfFiles: Bool {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == EMFILE || errno == ENFILE }
        close(descriptor)
        return false
    }
}
