/// One profile, of the two files that may have it.
struct AWSProfiles {
    private let name: String
    private let shared: AWSProfileFile
    private let config: AWSProfileFile
    private let section: String

    /// - Parameter mustExist: whether a person named it.
    init(
        named name: String, mustExist: Bool, credentials: String, config: String
    ) throws(S3SettingsError) {
        self.name = name
        shared = try AWSProfileFile(path: credentials)
        self.config = try AWSProfileFile(path: config)
        section = name == "default" && self.config.has("default") ? name : "profile \(name)"
        guard !mustExist || shared.has(name) || self.config.has(section) else {
            throw S3SettingsError("there is no profile '\(name)' in \(credentials) or \(config)")
        }
    }

    func value(_ key: String) -> String? {
        shared.value(key, in: name) ?? config.value(key, in: section)
    }

    var endpoint: String? {
        let services = value("services").map { "services \($0)" }
        return services.flatMap { config.value("s3.endpoint_url", in: $0) }
            ?? value("endpoint_url")
    }

    var credentials: S3Credentials {
        get throws(S3SettingsError) {
            if let accessKey = value("aws_access_key_id"),
                let secretKey = value("aws_secret_access_key")
            {
                return S3Credentials(
                    accessKey: accessKey, secretKey: secretKey,
                    sessionToken: value("aws_session_token"))
            }
            let elsewhere = [
                "credential_process", "role_arn", "sso_session", "sso_start_url",
                "web_identity_token_file",
            ].first { config.names(in: section).union(shared.names(in: name)).contains($0) }
            if let elsewhere {
                throw S3SettingsError(
                    "the profile '\(name)' has its credentials from '\(elsewhere)', which is not "
                        + "supported: 'aws configure export-credentials --format env' prints them "
                        + "as environment variables")
            }
            throw S3SettingsError(
                "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a "
                    + "profile of ~/.aws/credentials; --remote-unsigned asks without")
        }
    }
}
