/// The head of a final response.
package struct ResponseHead: Sendable {
    /// The status code, such as 200.
    package var status: Int
    /// The version of HTTP it came by: `1.0`, `1.1`, `2` or `3`.
    package var protocolVersion: String
    /// The header fields.
    package var headers: HeaderFields
}
