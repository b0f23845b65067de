/// What to fetch: a `GET` of one URL. Redirects are handed back, not followed.
public struct TransferRequest: Sendable {
    /// What is fetched.
    public var url: HTTPURL
    /// Header fields sent beside those that every request has (`Host`, `User-Agent`,
    /// `Accept-Encoding`); a field of the same name replaces one of those. Default: none.
    public var headers: [(name: String, value: String)]
    /// The largest body that is accepted, in decoded bytes. Default: 16 MiB.
    public var maximumBodyBytes: Int64

    /// A request for `url`.
    public init(
        url: HTTPURL, headers: [(name: String, value: String)] = [],
        maximumBodyBytes: Int64 = 16 << 20
    ) {
        self.url = url
        self.headers = headers
        self.maximumBodyBytes = maximumBodyBytes
    }

    /// The first header field that cannot be sent as one: its name is no token or its value has a
    /// line break or another control character in it, so that it would end up as something else
    /// (RFC 9110, section 5).
    var firstIllegalHeader: String? {
        func isToken(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
        }
        return headers.first { name, value in
            name.isEmpty || !name.utf8.allSatisfy(isToken)
                || value.utf8.contains { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }
        }?.name
    }
}
