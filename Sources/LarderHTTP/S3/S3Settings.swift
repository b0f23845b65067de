import Foundation
import LarderCore

/// The location of a bucket, and the credentials for it.
public struct S3Settings: Sendable {
    /// The bucket and the prefix.
    public var location: S3Location
    /// The server, such as `http://127.0.0.1:9000`. Nil means Amazon's server for the region.
    public var endpoint: HTTPURL?
    /// The region that requests are signed for.
    public var region: String
    /// The access key. Nil means unsigned requests.
    public var credentials: S3Credentials?
    /// A PEM file of certificate authorities. Default: nil, the file in ``TransferConfiguration``.
    public var certificateAuthorities: String?

    /// Creates settings without reading files or the environment.
    public init(
        location: S3Location, endpoint: HTTPURL? = nil, region: String = "us-east-1",
        credentials: S3Credentials? = nil
    ) {
        (self.location, self.endpoint) = (location, endpoint)
        (self.region, self.credentials) = (region, credentials)
    }

    /// Amazon S3 expects the bucket in the host name. A bucket name with dots is in the path,
    /// because such a host name would not match Amazon's certificate.
    var bucketURL: String {
        if let endpoint { return endpoint.string.droppingLastSlash + "/\(location.bucket)" }
        let host = "s3.\(region).amazonaws.com" + (region.hasPrefix("cn-") ? ".cn" : "")
        return location.bucket.contains(".")
            ? "https://\(host)/\(location.bucket)" : "https://\(location.bucket).\(host)"
    }
}

/// An error in the settings of a remote.
public struct S3SettingsError: Error, Sendable, CustomStringConvertible {
    /// The reason.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// An access key of an S3 store.
public struct S3Credentials: Hashable, Sendable, CustomStringConvertible {
    /// The access key ID, which is not secret.
    public var accessKey: String
    /// The secret that signs requests.
    public var secretKey: String
    /// The token of a temporary key.
    public var sessionToken: String?

    /// Creates an access key.
    public init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
        (self.accessKey, self.secretKey, self.sessionToken) = (accessKey, secretKey, sessionToken)
    }

    /// The access key ID, without secrets.
    public var description: String { "\(accessKey) (secret)" }
}

/// A bucket, and the prefix of Larder's object names in it: `s3://bucket/prefix`.
public struct S3Location: Hashable, Sendable, CustomStringConvertible {
    /// The bucket's name.
    public let bucket: String
    /// The prefix. It is empty, or ends with a slash.
    public let prefix: String

    /// Parses `s3://bucket` or `s3://bucket/prefix`. A bucket name has 3 to 63 of the characters
    /// `a-z`, `0-9`, `.` and `-`. A prefix has letters, digits and `-._~` between slashes, because
    /// all S3 stores encode these characters in the same way (RFC 3986, section 2.3).
    public init(_ text: String) throws(S3SettingsError) {
        guard text.utf8.starts(with: "s3://".utf8) else {
            throw S3SettingsError("expected s3://BUCKET/PREFIX")
        }
        let parts = text.dropFirst(5).split(separator: "/", omittingEmptySubsequences: false)
        bucket = parts.first.map(String.init) ?? ""
        guard bucket.wholeMatch(of: /(?!.*\.\.)[a-z0-9-][a-z0-9.-]{1,61}[a-z0-9-]/) != nil else {
            throw S3SettingsError(
                "expected a bucket name with 3 to 63 of the characters a-z, 0-9, '.' and '-'")
        }
        var segments = parts.dropFirst()
        if segments.last?.isEmpty == true { segments.removeLast() }
        let areValid = segments.allSatisfy {
            $0.utf8.allSatisfy(\.isUnreserved) && !["", ".", ".."].contains($0)
        }
        guard areValid, text.utf8.count <= 512 else {
            throw S3SettingsError(
                "expected a prefix of at most 512 bytes, with letters, digits, '-', '.', '_' and "
                    + "'~' between single slashes")
        }
        prefix = segments.map { $0 + "/" }.joined()
    }

    /// The URL, without a final slash.
    public var description: String { "s3://\(bucket)/\(prefix)".droppingLastSlash }
}

extension String {
    fileprivate var droppingLastSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}

extension S3Settings {
    /// Creates settings from arguments, the environment and AWS profiles, in this order of
    /// precedence (https://docs.aws.amazon.com/sdkref/latest/guide/environment-variables.html).
    /// docs/remote.md lists the variables and profile keys. An explicit `profile` takes precedence
    /// over credentials in the environment. If `isUnsigned` is true, no credentials are used.
    public init(
        location: S3Location, endpoint: String? = nil, region: String? = nil,
        profile: String? = nil, isUnsigned: Bool = false, environment: [String: String]
    ) throws(S3SettingsError) {
        func variable(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        let home = variable("HOME") ?? NSHomeDirectory()
        let profiles = try AWSProfiles(
            named: profile ?? variable("AWS_PROFILE") ?? "default",
            mustExist: profile != nil || variable("AWS_PROFILE") != nil,
            credentials: variable("AWS_SHARED_CREDENTIALS_FILE") ?? home + "/.aws/credentials",
            config: variable("AWS_CONFIG_FILE") ?? home + "/.aws/config")
        self.location = location
        self.region =
            region ?? variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION")
            ?? profiles.value("region") ?? "us-east-1"
        guard self.region.utf8.allSatisfy(\.isUnreserved), self.region.utf8.count <= 64 else {
            throw S3SettingsError(
                "the region must have at most 64 characters: letters, digits and '-._~'")
        }
        let isIgnored = variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")?.lowercased() == "true"
        let configured =
            variable("AWS_ENDPOINT_URL_S3") ?? variable("AWS_ENDPOINT_URL") ?? profiles.endpoint
        self.endpoint = try (endpoint ?? (isIgnored ? nil : configured)).map(Self.endpoint)
        certificateAuthorities = variable("AWS_CA_BUNDLE") ?? profiles.value("ca_bundle")
        let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
        let keys = names.compactMap(variable)
        if isUnsigned {
            credentials = nil
        } else if profile != nil {
            credentials = try profiles.credentials(lackingOthers: nil)
        } else if keys.count == names.count {
            credentials = S3Credentials(
                accessKey: keys[0], secretKey: keys[1], sessionToken: variable("AWS_SESSION_TOKEN"))
        } else {
            let unset = names.filter { variable($0) == nil }
            let set = names.first { !unset.contains($0) }
            credentials = try profiles.credentials(
                lackingOthers: set.map { "\($0) is set, but \(unset[0]) is not" }
                    ?? "\(names.joined(separator: " and ")) are not set")
        }
        let texts = [credentials?.accessKey, credentials?.secretKey, credentials?.sessionToken]
        // A slash would end the key in the signature. A colon is valid: OpenStack's keys have one.
        guard credentials?.accessKey.utf8.contains(UInt8(ascii: "/")) != true,
            texts.compactMap(\.self).allSatisfy({ text in
                text.utf8.count <= 8192 && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            })
        else { throw S3SettingsError("the credentials contain characters that cannot be sent") }
    }

    private static func endpoint(_ text: String) throws(S3SettingsError) -> HTTPURL {
        guard let url = try? HTTPURL(text) else {
            throw S3SettingsError("the endpoint is not an absolute http or https URL")
        }
        guard url.credentials == nil, !url.string.contains("?") else {
            throw S3SettingsError("the endpoint must not have credentials or a query")
        }
        return url
    }
}

/// Requests in a form that all S3 stores accept and libcurl can sign.
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
        // Buckets with object lock require a checksum for uploads (PutObject).
        if let checksum = digest.flatMap({ Digest(hex: $0) }) {
            let text = Data(checksum.bytes).base64EncodedString()
            request.headers.append(("x-amz-checksum-sha256", text))
        }
        guard let credentials else { return request }
        request.headers.append(("x-amz-content-sha256", digest ?? Self.digestOfNothing))
        if let token = credentials.sessionToken {
            request.headers.append(("x-amz-security-token", token))
        }
        request.signing = (
            region, Credentials(user: credentials.accessKey, password: credentials.secretKey)
        )
        return request
    }
}
