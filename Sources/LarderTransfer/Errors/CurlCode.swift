import CCurl

/// A result code of libcurl's easy interface (`CURLcode`).
///
/// Source: [libcurl-errors(3)](https://curl.se/libcurl/c/libcurl-errors.html).
public struct CurlCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number libcurl uses.
    public let rawValue: UInt32

    /// Wraps libcurl's number; every value is allowed, since later versions add some.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    init(_ code: CURLcode) {
        self.init(rawValue: code.rawValue)
    }

    /// libcurl's own words and number, such as `Couldn't connect to server (curl 7)`.
    public var description: String {
        "\(String(cString: curl_easy_strerror(CURLcode(rawValue)))) (curl \(rawValue))"
    }

    /// `CURLE_OK`: no error.
    public static let ok = CurlCode(CURLE_OK)
    /// `CURLE_UNSUPPORTED_PROTOCOL`: also an answer in HTTP/0.9, which has no head.
    public static let unsupportedProtocol = CurlCode(CURLE_UNSUPPORTED_PROTOCOL)
    /// `CURLE_URL_MALFORMAT`.
    public static let urlMalformat = CurlCode(CURLE_URL_MALFORMAT)
    /// `CURLE_COULDNT_RESOLVE_PROXY`.
    public static let couldntResolveProxy = CurlCode(CURLE_COULDNT_RESOLVE_PROXY)
    /// `CURLE_COULDNT_RESOLVE_HOST`.
    public static let couldntResolveHost = CurlCode(CURLE_COULDNT_RESOLVE_HOST)
    /// `CURLE_COULDNT_CONNECT`.
    public static let couldntConnect = CurlCode(CURLE_COULDNT_CONNECT)
    /// `CURLE_WEIRD_SERVER_REPLY`.
    public static let weirdServerReply = CurlCode(CURLE_WEIRD_SERVER_REPLY)
    /// `CURLE_HTTP2`: an error in HTTP/2's framing layer.
    public static let http2 = CurlCode(CURLE_HTTP2)
    /// `CURLE_PARTIAL_FILE`: the body ended before its announced length or its last chunk.
    public static let partialFile = CurlCode(CURLE_PARTIAL_FILE)
    /// `CURLE_WRITE_ERROR`: a callback refused what it was given.
    public static let writeError = CurlCode(CURLE_WRITE_ERROR)
    /// `CURLE_OUT_OF_MEMORY`: also what older versions say of a header line beyond 100 KB.
    public static let outOfMemory = CurlCode(CURLE_OUT_OF_MEMORY)
    /// `CURLE_OPERATION_TIMEDOUT`: any of the connect, stall and total timeouts.
    public static let operationTimedOut = CurlCode(CURLE_OPERATION_TIMEDOUT)
    /// `CURLE_SSL_CONNECT_ERROR`: the TLS handshake failed.
    public static let sslConnectError = CurlCode(CURLE_SSL_CONNECT_ERROR)
    /// `CURLE_GOT_NOTHING`: the connection closed without a byte.
    public static let gotNothing = CurlCode(CURLE_GOT_NOTHING)
    /// `CURLE_SSL_ENGINE_NOTFOUND`.
    public static let sslEngineNotFound = CurlCode(CURLE_SSL_ENGINE_NOTFOUND)
    /// `CURLE_SSL_ENGINE_SETFAILED`.
    public static let sslEngineSetFailed = CurlCode(CURLE_SSL_ENGINE_SETFAILED)
    /// `CURLE_SEND_ERROR`.
    public static let sendError = CurlCode(CURLE_SEND_ERROR)
    /// `CURLE_RECV_ERROR`.
    public static let receiveError = CurlCode(CURLE_RECV_ERROR)
    /// `CURLE_SSL_CERTPROBLEM`: something is wrong with our own certificate.
    public static let sslCertificateProblem = CurlCode(CURLE_SSL_CERTPROBLEM)
    /// `CURLE_SSL_CIPHER`.
    public static let sslCipher = CurlCode(CURLE_SSL_CIPHER)
    /// `CURLE_PEER_FAILED_VERIFICATION`: the server's certificate does not verify.
    public static let peerFailedVerification = CurlCode(CURLE_PEER_FAILED_VERIFICATION)
    /// `CURLE_BAD_CONTENT_ENCODING`: the body does not decode.
    public static let badContentEncoding = CurlCode(CURLE_BAD_CONTENT_ENCODING)
    /// `CURLE_FILESIZE_EXCEEDED`.
    public static let fileSizeExceeded = CurlCode(CURLE_FILESIZE_EXCEEDED)
    /// `CURLE_SSL_ENGINE_INITFAILED`.
    public static let sslEngineInitFailed = CurlCode(CURLE_SSL_ENGINE_INITFAILED)
    /// `CURLE_SSL_CACERT_BADFILE`: the file of certificate authorities cannot be used.
    public static let sslCABadFile = CurlCode(CURLE_SSL_CACERT_BADFILE)
    /// `CURLE_SSL_SHUTDOWN_FAILED`.
    public static let sslShutdownFailed = CurlCode(CURLE_SSL_SHUTDOWN_FAILED)
    /// `CURLE_SSL_CRL_BADFILE`.
    public static let sslCRLBadFile = CurlCode(CURLE_SSL_CRL_BADFILE)
    /// `CURLE_SSL_ISSUER_ERROR`.
    public static let sslIssuerError = CurlCode(CURLE_SSL_ISSUER_ERROR)
    /// `CURLE_SSL_PINNEDPUBKEYNOTMATCH`.
    public static let sslPinnedKeyMismatch = CurlCode(CURLE_SSL_PINNEDPUBKEYNOTMATCH)
    /// `CURLE_SSL_INVALIDCERTSTATUS`.
    public static let sslInvalidCertificateStatus = CurlCode(CURLE_SSL_INVALIDCERTSTATUS)
    /// `CURLE_HTTP2_STREAM`: the server ended one HTTP/2 stream with an error.
    public static let http2Stream = CurlCode(CURLE_HTTP2_STREAM)
    /// `CURLE_HTTP3`.
    public static let http3 = CurlCode(CURLE_HTTP3)
    /// `CURLE_QUIC_CONNECT_ERROR`.
    public static let quicConnectError = CurlCode(CURLE_QUIC_CONNECT_ERROR)
    /// `CURLE_SSL_CLIENTCERT`: the server wants a certificate of ours.
    public static let sslClientCertificate = CurlCode(CURLE_SSL_CLIENTCERT)
    /// `CURLE_PROXY`: a SOCKS proxy answered that it will not, or cannot.
    public static let proxy = CurlCode(CURLE_PROXY)
}
