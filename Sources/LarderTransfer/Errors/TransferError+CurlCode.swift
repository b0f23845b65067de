import CCurl

extension TransferError.Code {
    /// What a result of libcurl means by itself.
    ///
    /// A transfer may know better: libcurl has one result for all that keeps a connection from
    /// coming about, refused addresses included, and one for three time-outs.
    package init(_ curlCode: CurlCode) {
        self =
            switch curlCode.code {
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .nameNotResolved
            // The latter is a SOCKS proxy's refusal, or its failure.
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
            // An answer in HTTP/0.9, which has no head, is of an unsupported protocol.
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
