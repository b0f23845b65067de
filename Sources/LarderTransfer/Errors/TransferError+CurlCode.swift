extension TransferError.Code {
    /// What a result of libcurl means by itself.
    ///
    /// A transfer may know better: libcurl has one result for all that keeps a connection from
    /// coming about, refused addresses included, and one for three time-outs.
    package init(_ curlCode: CurlCode) {
        self =
            switch curlCode {
            case .couldntResolveHost, .couldntResolveProxy: .nameNotResolved
            case .couldntConnect, .proxy: .connectFailed
            case .operationTimedOut: .timeout
            case .peerFailedVerification, .sslIssuerError, .sslInvalidCertificateStatus,
                .sslPinnedKeyMismatch:
                .certificate
            case .sslConnectError, .sslEngineNotFound, .sslEngineSetFailed, .sslEngineInitFailed,
                .sslCertificateProblem, .sslCipher, .sslCABadFile, .sslShutdownFailed,
                .sslCRLBadFile, .sslClientCertificate:
                .tls
            case .partialFile: .bodyTruncated
            case .fileSizeExceeded: .tooLarge
            case .weirdServerReply, .unsupportedProtocol, .badContentEncoding: .malformedResponse
            case .gotNothing, .sendError, .receiveError, .http2, .http2Stream, .http3,
                .quicConnectError:
                .connectionLost
            case .urlMalformat: .invalidRequest
            default: .other
            }
    }
}
