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
