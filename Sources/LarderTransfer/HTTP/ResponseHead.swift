/// The head of a final response.
public struct ResponseHead: Sendable {
    /// The status code, such as 200.
    public var status: Int
    /// The version of HTTP it came by: `1.0`, `1.1`, `2` or `3`.
    public var protocolVersion: String
    /// The header fields.
    public var headers: HeaderFields

    /// A head with these values.
    public init(status: Int, protocolVersion: String = "1.1", headers: HeaderFields = .init()) {
        self.status = status
        self.protocolVersion = protocolVersion
        self.headers = headers
    }
}
