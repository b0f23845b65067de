import LarderCore

/// One request, a `GET` unless it says otherwise. Redirects are handed back, not followed.
package struct TransferRequest: Sendable {
    /// What is to be done with what the URL names.
    package enum Method: Sendable {
        case get
        /// Its head alone.
        case head
        /// It becomes these bytes.
        case put(RequestBody)
        case delete
    }

    /// Default: `get`.
    package var method = Method.get
    /// What is asked for; its credentials are sent as basic authentication.
    package var url: HTTPURL
    /// How the request is signed, in place of the URL's credentials. Default: `nil`, not at all.
    package var signing: RequestSigning?
    /// Header fields sent beside those that every request has (`Host`, `User-Agent`, and, unless
    /// it is signed, `Accept-Encoding`); a field of the same name replaces one of those. Default:
    /// none.
    package var headers: [(name: String, value: String)]
    /// The largest body that is accepted, in decoded bytes. Default: 16 MiB.
    package var maximumBodyBytes: Int64
    /// Whether ``TransferConfiguration/clientCertificate`` may be shown, and
    /// ``TransferConfiguration/netrcFile`` used. Default: `true`.
    package var usesStoredCredentials: Bool
    /// Of two that wait for a place, to connect or with their connections open, the one with the
    /// higher priority is first; among equals, the one that came first. Default: 0.
    package var priority = 0
    /// Whether no other request to the same scheme, host and port is to be expected: its connection
    /// is closed after it, and makes room for others. Default: `false`.
    package var isLastOfHost = false

    /// A request for `url`.
    package init(
        url: HTTPURL, headers: [(name: String, value: String)] = [],
        maximumBodyBytes: Int64 = 16 << 20, usesStoredCredentials: Bool = true
    ) {
        self.url = url
        self.headers = headers
        self.maximumBodyBytes = maximumBodyBytes
        self.usesStoredCredentials = usesStoredCredentials
    }

    /// The first header field that cannot be sent as one.
    var firstIllegalHeader: String? {
        headers.first { !HeaderFields.isSendable(name: $0, value: $1) }?.name
    }
}

/// The bytes of a request, read piece by piece while they are sent.
package struct RequestBody: Sendable {
    /// How many bytes there are.
    package let count: Int64
    /// Fills as much of a buffer as it can; nil if it cannot.
    package let read: @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int?

    /// Bytes from elsewhere, for example a file.
    ///
    /// - Parameter read: Fills the buffer from the offset on and returns the number of bytes; `nil`
    ///   ends the transfer. Called on the loop's thread, from the start again if the request is
    ///   repeated.
    package init(
        count: Int64,
        read: @escaping @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int?
    ) {
        self.count = count
        self.read = read
    }

    /// Bytes in memory.
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
    /// Such as `us-east-1`.
    package var region: String
    /// Such as `s3`.
    package var service: String
    /// Whose key it is, and the secret one.
    package var credentials: Credentials

    /// A signature by these credentials.
    package init(region: String, service: String, credentials: Credentials) {
        self.region = region
        self.service = service
        self.credentials = credentials
    }
}

/// The name of one transfer, unique within its ``TransferLoop``.
package struct TransferID: Hashable, Sendable {
    let number: UInt64
}
