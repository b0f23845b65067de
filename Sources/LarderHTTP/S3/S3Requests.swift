import Foundation
import LarderCore

/// Makes the requests, in the one form that all S3 stores and libcurl's signature agree on.
struct S3Requests: Sendable {
    private let settings: S3Settings
    private let base: String

    /// The digest of no bytes.
    private static let emptyDigest = Digest(of: [UInt8]()).hex

    init(_ settings: S3Settings) {
        self.settings = settings
        base = settings.bucketURL
    }

    func object(
        _ method: TransferRequest.Method, _ key: String, digest: String? = nil,
        mediaType: String? = nil, maximumBytes: Int64 = 64 << 10
    ) throws -> TransferRequest {
        try request(
            method, "/\(settings.location.prefix)\(key)", digest: digest, mediaType: mediaType,
            maximumBytes: maximumBytes)
    }

    func list(_ prefix: String, after last: String?) throws -> TransferRequest {
        // Sorted: that is how it is signed.
        var query = "list-type=2&max-keys=1000"
        query += "&prefix=\((settings.location.prefix + prefix).encodedForQuery)"
        if let last {
            query += "&start-after=\((settings.location.prefix + last).encodedForQuery)"
        }
        return try request(
            .get, "\(base.hasPathOfBucket(settings) ? "" : "/")?\(query)", maximumBytes: 8 << 20)
    }

    private func request(
        _ method: TransferRequest.Method, _ path: String, digest: String? = nil,
        mediaType: String? = nil, maximumBytes: Int64
    ) throws -> TransferRequest {
        // An error may be longer than what was asked for.
        var request = TransferRequest(
            url: try HTTPURL(base + path), maximumBodyBytes: max(maximumBytes, 64 << 10),
            usesStoredCredentials: false)
        request.method = method
        if let mediaType { request.headers.append(("Content-Type", mediaType)) }
        // Buckets with object lock refuse uploads without a checksum
        // (https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html).
        if let checksum = digest?.base64OfHexadecimal {
            request.headers.append(("x-amz-checksum-sha256", checksum))
        }
        guard let credentials = settings.credentials else { return request }
        request.headers.append(("x-amz-content-sha256", digest ?? Self.emptyDigest))
        if let token = credentials.sessionToken {
            request.headers.append(("x-amz-security-token", token))
        }
        request.signing = RequestSigning(
            region: settings.region, service: "s3",
            credentials: Credentials(user: credentials.accessKey, password: credentials.secretKey))
        return request
    }
}

extension String {
    /// Slashes, too, since the signature's rules say so.
    fileprivate var encodedForQuery: String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in utf8 {
            encoded +=
                byte.isUnreserved
                ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// The bytes that these hexadecimal digits stand for, in Base64. Nil if they are not digits.
    fileprivate var base64OfHexadecimal: String? {
        let digits = utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        let bytes = stride(from: 0, to: digits.count, by: 2).map {
            UInt8(digits[$0] << 4 | digits[$0 + 1])
        }
        return Data(bytes).base64EncodedString()
    }

    /// Whether the bucket is in the path; a host alone needs a slash before the query.
    fileprivate func hasPathOfBucket(_ settings: S3Settings) -> Bool {
        hasSuffix("/\(settings.location.bucket)")
    }
}
