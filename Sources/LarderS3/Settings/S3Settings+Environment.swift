import Foundation
import LarderTransfer

extension S3Settings {
    /// What a person, the environment and the files of AWS profiles say, in that order, by the
    /// names that every tool for S3 reads
    /// (https://docs.aws.amazon.com/sdkref/latest/guide/environment-variables.html).
    ///
    /// - Credentials: those of `profile` if it is given; else `AWS_ACCESS_KEY_ID`,
    ///   `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`; else the profile `AWS_PROFILE`, or
    ///   `default`, of `AWS_SHARED_CREDENTIALS_FILE` (`~/.aws/credentials`) and of
    ///   `AWS_CONFIG_FILE` (`~/.aws/config`).
    /// - Region: `region`, `AWS_REGION`, `AWS_DEFAULT_REGION`, the profile's `region`, `us-east-1`.
    /// - Endpoint: `endpoint`, `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, the profile's
    ///   `endpoint_url`, the one for `s3` of its `services` before it; else Amazon's.
    ///
    /// - Certificate authorities: `AWS_CA_BUNDLE`, the profile's `ca_bundle`.
    ///
    /// - Parameter isUnsigned: whether there are to be no credentials. Default: false.
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
        guard self.region.utf8.allSatisfy({ $0.isUnreserved }), self.region.utf8.count <= 64 else {
            throw S3SettingsError("the region has characters that no region has")
        }
        let isIgnored = variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")?.lowercased() == "true"
        let configured =
            isIgnored
            ? nil
            : variable("AWS_ENDPOINT_URL_S3") ?? variable("AWS_ENDPOINT_URL") ?? profiles.endpoint
        self.endpoint = try (endpoint ?? configured).map(Self.endpoint)

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
            let set = names.filter { !unset.contains($0) }
            let lack =
                set.isEmpty
                ? "\(names.joined(separator: " and ")) are not set"
                : "\(set[0]) is set, but \(unset[0]) is not"
            credentials = try profiles.credentials(lackingOthers: lack)
        }
        guard credentials?.isSendable ?? true else {
            throw S3SettingsError("the credentials have characters that cannot be sent")
        }
    }

    private static func endpoint(_ text: String) throws(S3SettingsError) -> HTTPURL {
        let url: HTTPURL
        do throws(HTTPURL.ParseError) {
            url = try HTTPURL(text)
        } catch {
            throw S3SettingsError("the endpoint is not an absolute http or https URL")
        }
        guard url.credentials == nil, !url.string.contains("?") else {
            throw S3SettingsError("the endpoint may have neither credentials nor a query")
        }
        return url
    }
}

extension S3Credentials {
    /// Whether they can be part of header fields. A slash separates the access key from the rest
    /// of the signature's scope. A colon may be in it: OpenStack Swift's keys are `account:user`.
    fileprivate var isSendable: Bool {
        [accessKey, secretKey, sessionToken ?? ""].allSatisfy { text in
            text.utf8.allSatisfy { (0x21...0x7E).contains($0) } && text.utf8.count <= 8192
        } && !accessKey.utf8.contains(UInt8(ascii: "/"))
    }
}
