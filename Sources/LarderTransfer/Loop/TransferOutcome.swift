#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What libcurl's result of a transfer means, given what we and the handle know.
struct TransferOutcome {
    let transfer: Transfer
    let handle: EasyHandle
    let curlCode: CurlCode
    let configuration: TransferConfiguration

    var result: Result<TransferMetrics, TransferError> {
        if let reason = transfer.reason {
            return .failure(error(reason.code, reason.message))
        }
        if curlCode == .ok { return .success(handle.metrics) }
        let code = self.code
        return .failure(error(code, message(for: code), curlCode))
    }

    private func error(
        _ code: TransferError.Code, _ message: String, _ curlCode: CurlCode? = nil
    ) -> TransferError {
        TransferError(
            code: code, url: transfer.order.request.url, message: message, curlCode: curlCode)
    }

    private var code: TransferError.Code {
        switch curlCode {
        case .couldntResolveHost: Self.isOutOfFiles ? .outOfFiles : .nameNotResolved
        case .couldntConnect:
            if transfer.isOutOfFiles {
                .outOfFiles
            } else if transfer.refusal != nil {
                .addressRefused
            } else {
                handle.systemError == ECONNREFUSED ? .connectionRefused : .connectFailed
            }
        case .operationTimedOut: timeoutCode
        case .peerFailedVerification, .sslIssuerError, .sslInvalidCertificateStatus,
            .sslPinnedKeyMismatch:
            .certificate
        case .sslConnectError, .sslEngineNotFound, .sslEngineSetFailed, .sslEngineInitFailed,
            .sslCertificateProblem, .sslCipher, .sslCABadFile, .sslShutdownFailed, .sslCRLBadFile,
            .sslClientCertificate:
            .tls
        case .partialFile: .bodyTruncated
        case .fileSizeExceeded: .tooLarge
        case .weirdServerReply, .unsupportedProtocol, .badContentEncoding: .malformedResponse
        case .gotNothing, .sendError, .receiveError, .http2, .http2Stream, .http3,
            .quicConnectError:
            .connectionLost
        case .outOfMemory where handle.isConnected && !transfer.hasHead: .headersTooLarge
        case .urlMalformat: .invalidRequest
        default: .other
        }
    }

    /// libcurl has one code for three timeouts.
    private var timeoutCode: TransferError.Code {
        // It counts whole milliseconds.
        if handle.elapsed + .milliseconds(1) >= configuration.totalTimeout { return .timeout }
        return handle.isConnected ? .stalled : .connectTimeout
    }

    private func message(for code: TransferError.Code) -> String {
        if code == .addressRefused, let refusal = transfer.refusal {
            return "\(refusal); --allow-private-network permits it"
        }
        if code == .outOfFiles { return "no file descriptor is left" }
        if code == .headersTooLarge { return "the response's head is too long" }
        let words = handle.errorMessage
        return words.isEmpty ? curlCode.description : words
    }

    /// A name look-up without a descriptor to ask with fails like that of an unknown name.
    private static var isOutOfFiles: Bool {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == EMFILE || errno == ENFILE }
        close(descriptor)
        return false
    }
}
