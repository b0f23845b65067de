import LarderCore

/// One request. Redirects are returned, not followed.
package struct TransferRequest: Sendable {
    package enum Method: Sendable {
        case get, head
        case put(RequestBody)
        case delete
    }

    package var method = Method.get
    /// Its credentials are sent as basic authentication.
    package var url: HTTPURL
    /// Replaces the URL's credentials.
    package var signing: RequestSigning?
    /// A field replaces the one of the same name that every request has (`Host`, `User-Agent`, and,
    /// unless it is signed, `Accept-Encoding`).
    package var headers: [(name: String, value: String)]
    /// Cookies of a ``ResponseHead``, which are sent where they may be. Default: none.
    package var cookies: [String] = []
    /// In decoded bytes. Default: 16 MiB.
    package var maximumBodyBytes: Int64
    /// Whether to use ``TransferConfiguration/clientCertificate`` and
    /// ``TransferConfiguration/netrcFile``. Default: `true`.
    package var usesStoredCredentials: Bool
    /// Whether libcurl may repeat the request if the connection is lost before a response, as an
    /// idle one may be. If not, the transfer ends as lost, since a repeated request is another
    /// attempt. An upload may be repeated once, without `Expect` (RFC 9110, section 15.5.18).
    /// Default: `false`.
    package var mayBeRepeated = false
    /// Whether to end, as a success without a head, when the connection for the request is open.
    /// The connection then waits for the next request. Default: `false`.
    package var onlyConnects = false
    /// Whether to wait for a connection in progress that may turn out to be HTTP/2, instead of
    /// making another one. If a host cannot be reached, each transfer that waits for another's
    /// connection would wait for one time-out after the other. Default: `true`.
    package var sharesConnection = true
    /// Whether to expect no other request to the same scheme, host and port. If so, the connection
    /// is closed afterwards, which makes room for others.
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

/// The bytes of a request, read piece by piece while they are sent.
package struct RequestBody: Sendable {
    package let count: Int64
    package let read: @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int?

    /// - Parameter read: Fills the buffer from the offset on and returns the number of bytes; `nil`
    ///   ends the transfer. Called on the loop's queue, from the start again if the request is
    ///   repeated.
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

/// AWS Signature Version 4, made by libcurl for each attempt.
///
/// libcurl 7.88 requires a field `x-amz-content-sha256`, a sorted query, and no header field whose
/// name is a prefix of another's (lib/http_aws_sigv4.c).
package struct RequestSigning: Sendable {
    /// For example `us-east-1`.
    package var region: String
    /// For example `s3`.
    package var service: String
    /// The access key and the secret key.
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
/// All calls are on the loop's queue: do not block. For each transfer they come in order: at most
/// one head, any number of bytes, exactly one end.
package protocol TransferReceiver: AnyObject, Sendable {
    /// Receives the head of the final response. If it returns false, the transfer ends as
    /// ``TransferError/Code-swift.enum/abandoned``.
    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool

    /// Receives the next decoded bytes of the body, valid during the call only.
    func transfer(_ id: TransferID, didReceive bytes: UnsafeRawBufferPointer) -> ReceiveVerdict

    /// Receives the end. The loop then releases the receiver.
    func transfer(_ id: TransferID, didEnd result: Result<TransferMetrics, TransferError>)
}

/// A receiver's answer to bytes.
package enum ReceiveVerdict: Sendable {
    case proceed
    /// Deliver the bytes again, perhaps with more, after ``TransferLoop/resume(_:)``. A paused
    /// transfer does not stall, but its total timeout runs.
    case pause
    /// End the transfer as ``TransferError/Code-swift.enum/abandoned``.
    case stop
}

package struct TransferMetrics: Hashable, Sendable {
    /// Encoded bytes of the body.
    package var receivedBytes: Int64
    /// Without the wait for a slot.
    package var total: Duration
    package var reusedConnection: Bool
}
