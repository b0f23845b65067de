import LarderCore

/// A request. Redirects are returned, not followed.
package struct TransferRequest: Sendable {
    package enum Method: Sendable {
        case get, head
        case put(RequestBody)
        case delete
    }

    package var method = Method.get
    /// Credentials in the URL are sent as basic authentication.
    package var url: HTTPURL
    /// Used instead of the URL's credentials.
    package var signing: RequestSigning?
    /// A field replaces the default field of the same name: `Host`, `User-Agent` and, in unsigned
    /// requests, `Accept-Encoding`.
    package var headers: [(name: String, value: String)]
    /// Cookies of a ``ResponseHead``. Each is sent only if it matches the URL. Default: none.
    package var cookies: [String] = []
    /// Maximum number of decoded body bytes. Default: 16 MiB.
    package var maximumBodyBytes: Int64
    /// Whether to use ``TransferConfiguration/clientCertificate`` and
    /// ``TransferConfiguration/netrcFile``. Default: `true`.
    package var usesStoredCredentials: Bool
    /// Whether libcurl may repeat the request if the connection is lost before a response, which is
    /// common for idle connections. If false, the transfer fails, because a repeated request counts
    /// as another attempt. An upload may be repeated once in any case, without `Expect` (RFC 9110,
    /// section 15.5.18). Default: `false`.
    package var mayBeRepeated = false
    /// Whether to end the transfer, as a success without a head, once its connection is open. The
    /// connection is kept for the next request. Default: `false`.
    package var onlyConnects = false
    /// Whether to wait for a connection in progress, which may turn out to be HTTP/2. At an
    /// unreachable host, such transfers time out in sequence. Default: `true`.
    package var sharesConnection = true
    /// Whether no other request to the same scheme, host and port is expected. The connection is
    /// then closed, to make room for others. Default: `false`.
    package var isLastOfHost = false

    package init(
        url: HTTPURL, headers: [(name: String, value: String)] = [],
        maximumBodyBytes: Int64 = 16 << 20, usesStoredCredentials: Bool = true
    ) {
        self.url = url
        self.headers = headers
        self.maximumBodyBytes = maximumBodyBytes
        self.usesStoredCredentials = usesStoredCredentials
    }
}

/// The body of a request, read piece by piece while it is sent.
package struct RequestBody: Sendable {
    package let count: Int64
    package let read: @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int?

    /// - Parameter read: Copies bytes from the offset into the buffer. Returns their number, or nil
    ///   to end the transfer. Called on the loop's queue, and from 0 again for a repeated request.
    package init(
        count: Int64,
        read: @escaping @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int?
    ) {
        self.count = count
        self.read = read
    }

    package init(_ bytes: [UInt8]) {
        self.init(count: Int64(bytes.count)) { offset, buffer in
            bytes.withUnsafeBytes { bytes in
                let rest = bytes[min(Int(offset), bytes.count)...].prefix(buffer.count)
                buffer.copyBytes(from: rest)
                return rest.count
            }
        }
    }
}

/// An AWS Signature Version 4, which libcurl computes for each attempt.
///
/// libcurl 7.88 requires a field `x-amz-content-sha256`, a sorted query, and no header field whose
/// name is a prefix of another's (lib/http_aws_sigv4.c).
package struct RequestSigning: Sendable {
    package var region: String
    package var service: String
    package var credentials: Credentials

    package init(region: String, service: String, credentials: Credentials) {
        self.region = region
        self.service = service
        self.credentials = credentials
    }
}

/// Unique within a ``TransferLoop``.
package struct TransferID: Hashable, Sendable {
    let number: UInt64
}

/// Receives the events of a transfer.
///
/// All calls are on the loop's queue and must not block. A transfer has at most one head, then any
/// number of body pieces, then exactly one end.
package protocol TransferReceiver: AnyObject, Sendable {
    /// Receives the head of the final response. If it returns false, the transfer ends as
    /// ``TransferError/Code-swift.enum/abandoned``.
    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool

    /// Receives the next decoded bytes of the body. They are valid during the call only.
    func transfer(_ id: TransferID, didReceive bytes: UnsafeRawBufferPointer) -> ReceiveVerdict

    /// Receives the end. The loop then releases the receiver.
    func transfer(_ id: TransferID, didEnd result: TransferResult)
}

package typealias TransferResult = Result<TransferMetrics, TransferError>

/// A receiver's decision about body bytes.
package enum ReceiveVerdict: Sendable {
    case proceed
    /// Delivers the bytes again, perhaps with more, after ``TransferLoop/resume(_:)``. A paused
    /// transfer does not stall, but its total timeout runs.
    case pause
    /// Ends the transfer as ``TransferError/Code-swift.enum/abandoned``.
    case stop
}

package struct TransferMetrics: Hashable, Sendable {
    package var receivedBytes: Int64
    /// The duration, without the wait for a slot.
    package var total: Duration
    package var reusedConnection: Bool
}
