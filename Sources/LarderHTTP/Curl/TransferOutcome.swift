import CCurl
import Foundation

/// The meaning of libcurl's result of a transfer, given the state of the transfer and the handle.
struct TransferOutcome {
    let transfer: Transfer
    let handle: EasyHandle
    let curlCode: CURLcode
    let configuration: TransferConfiguration

    var result: Result<TransferMetrics, TransferError> {
        if let reason = transfer.reason {
            return .failure(error(reason.code, reason.message))
        }
        if curlCode == CURLE_OK, transfer.isHeldBack, !transfer.order.request.onlyConnects {
            return .failure(error(.connectionLost, "the connection was lost before a response"))
        }
        if curlCode == CURLE_OK {
            return transfer.isWhole
                ? .success(handle.metrics)
                : .failure(error(.bodyTruncated, "the encoded body ends early"))
        }
        let code = self.code
        return .failure(error(code, message(for: code)))
    }

    private func error(_ code: TransferError.Code, _ message: String) -> TransferError {
        TransferError(code: code, url: transfer.order.request.url, message: message)
    }

    private var code: TransferError.Code {
        let general = TransferError.Code(curlCode: curlCode.rawValue)
        return switch curlCode {
        case _ where isRefusedByProxy: .proxyRefused
        case _ where handle.proxyStatus.map { $0 >= 300 } ?? false: .connectFailed
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            Self.isOutOfFiles ? .outOfFiles : general
        case CURLE_COULDNT_CONNECT where transfer.isOutOfFiles: .outOfFiles
        case CURLE_COULDNT_CONNECT where transfer.refusal != nil: .addressRefused
        case CURLE_COULDNT_CONNECT where handle.systemError == ECONNREFUSED: .connectionRefused
        case CURLE_OPERATION_TIMEDOUT: timeoutCode
        case CURLE_SSL_CONNECT_ERROR where isLostInHandshake: .connectionLost
        // The result of older versions for a header line beyond 100 KB.
        case CURLE_OUT_OF_MEMORY where handle.isConnected && !transfer.hasHead: .headersTooLarge
        // libcurl has no code for a trailer that is too long.
        case CURLE_RECV_ERROR where handle.errorMessage.hasPrefix("Out of memory in chunked"):
            .headersTooLarge
        default: general
        }
    }

    /// Whether the proxy refused. If it could not reach the server, another attempt may succeed.
    private var isRefusedByProxy: Bool {
        if let status = handle.proxyStatus { return (400..<500).contains(status) }
        guard curlCode == CURLE_PROXY else { return false }
        return switch handle.proxyError {
        case CURLPX_REPLY_CONNECTION_REFUSED, CURLPX_REPLY_GENERAL_SERVER_FAILURE,
            CURLPX_REPLY_HOST_UNREACHABLE, CURLPX_REPLY_NETWORK_UNREACHABLE,
            CURLPX_REPLY_TTL_EXPIRED, CURLPX_RESOLVE_HOST, CURLPX_CLOSED:
            false
        default: true
        }
    }

    /// OpenSSL reports an early end without a reset as `SSL_ERROR_SYSCALL`.
    private var isLostInHandshake: Bool {
        [ECONNRESET, ECONNABORTED, EPIPE].contains(handle.systemError)
            || handle.errorMessage.contains("SSL_ERROR_SYSCALL")
    }

    /// libcurl has one code for three timeouts.
    private var timeoutCode: TransferError.Code {
        // libcurl counts whole milliseconds.
        if configuration.maximumBytesPerSecond == nil,
            handle.elapsed + .milliseconds(1) >= configuration.totalTimeout
        {
            return .timeout
        }
        return handle.isConnected ? .stalled : .connectTimeout
    }

    private func message(for code: TransferError.Code) -> String {
        if code == .addressRefused, let refusal = transfer.refusal {
            return AddressPolicy.advised(refusal, transfer.order.request.url)
        }
        if code == .outOfFiles { return "no file descriptor is left" }
        if code == .headersTooLarge { return "the response's head is too long" }
        let message = handle.errorMessage
        let words = message.isEmpty ? curlCode.text : message
        guard let proxy = transfer.proxy, !handle.isConnected else { return words }
        if let status = handle.proxyStatus, status >= 300 {
            return "the proxy \(proxy) answered with status \(status)"
        }
        return "through the proxy \(proxy): \(words)"
    }

    /// Without a descriptor, a name look-up fails like that of an unknown name.
    private static var isOutOfFiles: Bool {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == EMFILE || errno == ENFILE }
        close(descriptor)
        return false
    }
}
