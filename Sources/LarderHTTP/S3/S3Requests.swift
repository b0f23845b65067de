import Foundation
import LarderCore

/// Requests in a form that all S3 stores and libcurl's signature support.
extension S3Settings {
    static let metadataField = "x-amz-meta-larder-reference"
    private static let digestOfNothing = Digest(of: [UInt8]()).hex

    func listRequest(_ prefix: String, after last: String?) throws -> TransferRequest {
        // The signature requires encoded slashes and a sorted query.
        func encoded(_ key: String) -> String {
            (location.prefix + key).utf8.percentEncoded(except: \.isUnreserved)
        }
        var query = "?list-type=2&max-keys=1000&prefix=\(encoded(prefix))"
        if let last { query += "&start-after=\(encoded(last))" }
        return try request(.get, query: query, maximumBytes: 8 << 20)
    }

    func request(
        _ method: TransferRequest.Method, for key: String? = nil, query: String = "",
        digest: String? = nil, mediaType: String? = nil, metadata: String? = nil,
        maximumBytes: Int64 = 64 << 10
    ) throws -> TransferRequest {
        let path = key.map { "/\(location.prefix)\($0)" } ?? ""
        // An error response may be longer than the object.
        var request = TransferRequest(
            url: try HTTPURL(bucketURL + path + query),
            maximumBodyBytes: max(maximumBytes, 64 << 10), usesStoredCredentials: false)
        request.method = method
        // With shared connections, requests to an unresponsive remote would wait for each other.
        request.sharesConnection = false
        if let mediaType { request.headers.append(("Content-Type", mediaType)) }
        if let metadata { request.headers.append((Self.metadataField, metadata)) }
        // Buckets with object lock require a checksum for uploads.
        if let checksum = digest.flatMap({ Digest(hex: $0) }) {
            let text = Data(checksum.bytes).base64EncodedString()
            request.headers.append(("x-amz-checksum-sha256", text))
        }
        guard let credentials else { return request }
        request.headers.append(("x-amz-content-sha256", digest ?? Self.digestOfNothing))
        if let token = credentials.sessionToken {
            request.headers.append(("x-amz-security-token", token))
        }
        request.signing = RequestSigning(
            region: region,
            credentials: Credentials(user: credentials.accessKey, password: credentials.secretKey))
        return request
    }
}
