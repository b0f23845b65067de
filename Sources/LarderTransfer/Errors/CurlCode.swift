import CCurl

/// A result code of libcurl's easy interface (`CURLcode`).
///
/// Source: [libcurl-errors(3)](https://curl.se/libcurl/c/libcurl-errors.html).
package struct CurlCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number libcurl uses.
    package let rawValue: UInt32

    /// Wraps libcurl's number; every value is allowed, since later versions add some.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    init(_ code: CURLcode) {
        self.init(rawValue: code.rawValue)
    }

    /// libcurl's own words and number, such as `Couldn't connect to server (curl 7)`.
    package var description: String {
        "\(String(cString: curl_easy_strerror(CURLcode(rawValue)))) (curl \(rawValue))"
    }

    /// `CURLE_OK`: no error.
    package static let ok = CurlCode(CURLE_OK)
    /// `CURLE_UNSUPPORTED_PROTOCOL`: also an answer in HTTP/0.9, which has no head.
    package static let unsupportedProtocol = CurlCode(CURLE_UNSUPPORTED_PROTOCOL)
    /// `CURLE_URL_MALFORMAT`.
    package static let urlMalformat = CurlCode(CURLE_URL_MALFORMAT)
    /// `CURLE_COULDNT_RESOLVE_PROXY`.
    package static let couldntResolveProxy = CurlCode(CURLE_COULDNT_RESOLVE_PROXY)
    /// `CURLE_COULDNT_RESOLVE_HOST`.
    package static let couldntResolveHost = CurlCode(CURLE_COULDNT_RESOLVE_HOST)
    /// `CURLE_COULDNT_CONNECT`.
    package static let couldntConnect = CurlCode(CURLE_COULDNT_CONNECT)
    /// `CURLE_WEIRD_SERVER_REPLY`.
    package static let weirdServerReply = CurlCode(CURLE_WEIRD_SERVER_REPLY)
    /// `CURLE_HTTP2`: an error in HTTP/2's framing layer.
    package static let http2 = CurlCode(CURLE_HTTP2)
    /// `CURLE_PARTIAL_FILE`: the body ended before its announced length or its last chunk.
    package static let partialFile = CurlCode(CURLE_PARTIAL_FILE)
    /// `CURLE_WRITE_ERROR`: a callback refused what it was given.
    package static let writeError = CurlCode(CURLE_WRITE_ERROR)
    /// `CURLE_OUT_OF_MEMORY`: also what older versions say of a header line beyond 100 KB.
    package static let outOfMemory = CurlCode(CURLE_OUT_OF_MEMORY)
    /// `CURLE_OPERATION_TIMEDOUT`: any of the connect, stall and total timeouts.
    package static let operationTimedOut = CurlCode(CURLE_OPERATION_TIMEDOUT)
    /// `CURLE_SSL_CONNECT_ERROR`: the TLS handshake failed.
    package static let sslConnectError = CurlCode(CURLE_SSL_CONNECT_ERROR)
    /// `CURLE_GOT_NOTHING`: the connection closed without a byte.
    package static let gotNothing = CurlCode(CURLE_GOT_NOTHING)
    /// `CURLE_SSL_ENGINE_NOTFOUND`.
    package static let sslEngineNotFound = CurlCode(CURLE_SSL_ENGINE_NOTFOUND)
    /// `CURLE_SSL_ENGINE_SETFAILED`.
    package static let sslEngineSetFailed = CurlCode(CURLE_SSL_ENGINE_SETFAILED)
    /// `CURLE_SEND_ERROR`.
    package static let sendError = CurlCode(CURLE_SEND_ERROR)
    /// `CURLE_RECV_ERROR`.
    package static let receiveError = CurlCode(CURLE_RECV_ERROR)
    /// `CURLE_SSL_CERTPROBLEM`: something is wrong with our own certificate.
    package static let sslCertificateProblem = CurlCode(CURLE_SSL_CERTPROBLEM)
    /// `CURLE_SSL_CIPHER`.
    package static let sslCipher = CurlCode(CURLE_SSL_CIPHER)
    /// `CURLE_PEER_FAILED_VERIFICATION`: the server's certificate does not verify.
    package static let peerFailedVerification = CurlCode(CURLE_PEER_FAILED_VERIFICATION)
    /// `CURLE_BAD_CONTENT_ENCODING`: the body does not decode.
    package static let badContentEncoding = CurlCode(CURLE_BAD_CONTENT_ENCODING)
    /// `CURLE_FILESIZE_EXCEEDED`.
    package static let fileSizeExceeded = CurlCode(CURLE_FILESIZE_EXCEEDED)
    /// `CURLE_SSL_ENGINE_INITFAILED`.
    package static let sslEngineInitFailed = CurlCode(CURLE_SSL_ENGINE_INITFAILED)
    /// `CURLE_SSL_CACERT_BADFILE`: the file of certificate authorities cannot be used.
    package static let sslCABadFile = CurlCode(CURLE_SSL_CACERT_BADFILE)
    /// `CURLE_SSL_SHUTDOWN_FAILED`.
    package static let sslShutdownFailed = CurlCode(CURLE_SSL_SHUTDOWN_FAILED)
    /// `CURLE_SSL_CRL_BADFILE`.
    package static let sslCRLBadFile = CurlCode(CURLE_SSL_CRL_BADFILE)
    /// `CURLE_SSL_ISSUER_ERROR`.
    package static let sslIssuerError = CurlCode(CURLE_SSL_ISSUER_ERROR)
    /// `CURLE_SSL_PINNEDPUBKEYNOTMATCH`.
    package static let sslPinnedKeyMismatch = CurlCode(CURLE_SSL_PINNEDPUBKEYNOTMATCH)
    /// `CURLE_SSL_INVALIDCERTSTATUS`.
    package static let sslInvalidCertificateStatus = CurlCode(CURLE_SSL_INVALIDCERTSTATUS)
    /// `CURLE_HTTP2_STREAM`: the server ended one HTTP/2 stream with an error.
    package static let http2Stream = CurlCode(CURLE_HTTP2_STREAM)
    /// `CURLE_HTTP3`.
    package static let http3 = CurlCode(CURLE_HTTP3)
    /// `CURLE_QUIC_CONNECT_ERROR`.
    package static let quicConnectError = CurlCode(CURLE_QUIC_CONNECT_ERROR)
    /// `CURLE_SSL_CLIENTCERT`: the server wants a certificate of ours.
    package static let sslClientCertificate = CurlCode(CURLE_SSL_CLIENTCERT)
    /// `CURLE_PROXY`: a SOCKS proxy answered that it will not, or cannot.
    package static let proxy = CurlCode(CURLE_PROXY)
}
