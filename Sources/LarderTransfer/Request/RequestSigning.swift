/// AWS Signature Version 4, made by libcurl for each attempt.
///
/// What libcurl 7.88 signs is right only if the request has a field `x-amz-content-sha256`, a
/// sorted query, and no two header fields where one's name begins the other's
/// (lib/http_aws_sigv4.c): whoever makes the request sees to that.
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
