import LarderCore

package typealias FieldList = [(name: String, value: String)]

package struct TransferRequest: Sendable {
    package enum Method: Sendable {
        case get, head
        case put(RequestBody)
        case delete
    }

    package var method = Method.get
    /// The URL. Its credentials are sent as basic authentication.
    package var url: HTTPURL
    /// The region and credentials of an AWS Signature Version 4, which replaces the URL's
    /// credentials. libcurl computes it (lib/http_aws_sigv4.c). libcurl 7.88 requires the field
    /// `x-amz-content-sha256`, a sorted query, and that no field name is a prefix of another.
    package var signing: (region: String, credentials: Credentials)?
    /// The header fields, which can replace the default `Host`, `User-Agent` and `Accept-Encoding`.
    package var headers: FieldList
    /// The cookies from a redirect's ``ResponseHead``. Each is sent only if it matches the URL.
    package var cookies: [String] = []
    /// Maximum size of the decoded body, in bytes.
    package var maximumBodyBytes: Int64
    package var usesStoredCredentials: Bool
    /// Whether libcurl may repeat the request if the connection is lost before a response. An
    /// upload may always be repeated once, without `Expect` (RFC 9110, section 15.5.18).
    package var mayBeRepeated = false
    /// Whether to only open a connection for later. Such a transfer succeeds without a head.
    package var onlyConnects = false
    /// Whether to wait for a connection that is being opened, because it may support HTTP/2. If it
    /// cannot be opened, the waiting transfers time out one after another.
    package var sharesConnection = true
    /// Whether to close the connection, because no other request to the origin is expected.
    package var isLastOfHost = false

    package init(
        url: HTTPURL, headers: FieldList = [], maximumBodyBytes: Int64 = 16 << 20,
        usesStoredCredentials: Bool = true
    ) {
        (self.url, self.headers, self.maximumBodyBytes) = (url, headers, maximumBodyBytes)
        self.usesStoredCredentials = usesStoredCredentials
    }
}

package struct RequestBody: Sendable {
    package typealias Reader =
        @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int?

    package let count: Int64
    /// Returns the number of copied bytes, or nil to end the transfer. Called on the loop's queue.
    package let read: Reader

    package init(count: Int64, read: @escaping Reader) { (self.count, self.read) = (count, read) }

    package init(_ bytes: [UInt8]) {
        self.init(count: Int64(bytes.count)) { offset, buffer in
            let rest = bytes.dropFirst(Int(offset)).prefix(buffer.count)
            buffer.copyBytes(from: rest)
            return rest.count
        }
    }
}

package struct TransferID: Hashable, Sendable { let number: UInt64 }

/// A receiver of a transfer's events: at most one head, any number of body pieces, then exactly one
/// end. All calls are on the loop's queue and must not block.
package protocol TransferReceiver: AnyObject, Sendable {
    /// Receives the final head. If it returns false, the transfer ends as `abandoned`.
    func transfer(_ id: TransferID, didReceive head: ResponseHead) -> Bool

    /// Receives decoded bytes, valid during the call.
    func transfer(_ id: TransferID, didReceive bytes: UnsafeRawBufferPointer) -> ReceiveVerdict

    func transfer(_ id: TransferID, didEnd result: TransferResult)
}

package typealias TransferResult = Result<TransferMetrics, TransferError>

package enum ReceiveVerdict: Sendable {
    case proceed
    /// Pauses until ``TransferLoop/resume(_:)`` delivers the bytes again. This is not a stall.
    case pause
    case stop
}

package struct TransferMetrics: Hashable, Sendable {
    package var receivedBytes: Int64
    /// The duration, excluding the wait for a slot.
    package var total: Duration
    package var reusedConnection: Bool
}
