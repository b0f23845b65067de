import Foundation
import LarderTestSupport
import Testing

@testable import LarderHTTP

/// The credentials, region and endpoint of a bucket, from options, the environment and profiles.
struct S3SettingsTests {
    private static let credentialsFile = """
        [default]
        aws_access_key_id = DEFAULTKEY
        aws_secret_access_key = defaultsecret

        # Another one.
        [other]
        aws_access_key_id=OTHERKEY
          aws_secret_access_key =   other=secret
        aws_session_token=othertoken
        [both]
        aws_access_key_id = BOTHKEY
        aws_secret_access_key = bothsecret
        """
    private static let configFile = """
        ; A comment.
        [default]
        region = default-region-1
        [profile other]
        region = other-region-1
        endpoint_url = http://other.example
        services = local
        [profile both]
        aws_access_key_id = NOTTHIS
        aws_secret_access_key = notthis
        endpoint_url = http://both.example
        [profile keys]
        aws_access_key_id = CONFIGKEY
        aws_secret_access_key = configsecret
        s3 =
          addressing_style = path
        region = keys-region-1
        [services local]
        dynamodb =
          endpoint_url = http://dynamo.example
        s3 =
          endpoint_url = http://services.example
        [profile process]
        credential_process = /bin/false
        [profile sso]
        sso_session = mine
        [profile role]
        role_arn = arn:aws:iam::1:role/x
        [profile half]
        aws_access_key_id = HALFKEY
        [profile empty]
        output = json
        """

    private func settings(
        endpoint: String? = nil, region: String? = nil, profile: String? = nil,
        isUnsigned: Bool = false, _ environment: [String: String] = [:],
        credentials: String? = Self.credentialsFile, config: String? = Self.configFile
    ) throws -> S3Settings {
        try withTemporaryDirectory { home in
            try FileManager.default.createDirectory(
                atPath: home.path(".aws"), withIntermediateDirectories: false)
            try credentials?.write(
                toFile: home.path(".aws/credentials"), atomically: false, encoding: .utf8)
            try config?.write(toFile: home.path(".aws/config"), atomically: false, encoding: .utf8)
            return try S3Settings(
                location: S3Location("s3://bucket/p"), endpoint: endpoint, region: region,
                profile: profile, isUnsigned: isUnsigned,
                environment: environment.merging(["HOME": home.path]) { own, _ in own })
        }
    }

    private static let keys = [
        "AWS_ACCESS_KEY_ID": "ENVKEY", "AWS_SECRET_ACCESS_KEY": "envsecret",
    ]

    // MARK: Credentials

    @Test func credentialsComeFromTheFirstSourceThatHasThem() throws {
        func key(
            profile: String? = nil, _ environment: [String: String] = [:]
        ) throws -> String? {
            try settings(profile: profile, environment).credentials?.accessKey
        }
        #expect(try key() == "DEFAULTKEY")
        #expect(try key(["AWS_PROFILE": "other"]) == "OTHERKEY")
        #expect(try key(["AWS_PROFILE": ""]) == "DEFAULTKEY")
        #expect(try key(Self.keys) == "ENVKEY")
        #expect(try key(Self.keys.merging(["AWS_PROFILE": "other"]) { $1 }) == "ENVKEY")
        #expect(try key(profile: "other", Self.keys) == "OTHERKEY")
        #expect(try key(profile: "other", ["AWS_PROFILE": "keys"]) == "OTHERKEY")
        // Half a key is ignored.
        #expect(try key(["AWS_ACCESS_KEY_ID": "ENVKEY"]) == "DEFAULTKEY")
        #expect(try key(profile: "keys") == "CONFIGKEY")
        #expect(try key(profile: "both") == "BOTHKEY")
    }

    @Test func credentialsHaveTheirSessionToken() throws {
        #expect(
            try settings(profile: "other").credentials
                == S3Credentials(
                    accessKey: "OTHERKEY", secretKey: "other=secret", sessionToken: "othertoken"))
        #expect(try settings().credentials?.sessionToken == nil)
        var environment = Self.keys
        #expect(try settings(environment).credentials?.sessionToken == nil)
        environment["AWS_SESSION_TOKEN"] = "envtoken"
        #expect(
            try settings(environment).credentials
                == S3Credentials(
                    accessKey: "ENVKEY", secretKey: "envsecret", sessionToken: "envtoken"))
        #expect(!"\(try settings(environment))".contains("envsecret"))
    }

    @Test func unsignedSettingsHaveNoCredentials() throws {
        #expect(try settings(isUnsigned: true, Self.keys).credentials == nil)
        #expect(
            try settings(isUnsigned: true, credentials: nil, config: nil).credentials == nil)
    }

    @Test(arguments: [
        ("process", "credential_process"), ("sso", "sso_session"), ("role", "role_arn"),
        ("empty", "no credentials"), ("nonsuch", "the profile 'nonsuch' does not exist"),
    ])
    func credentialsFromUnsupportedSourcesAreAnError(_ profile: String, _ words: String) {
        let named = #expect(throws: S3SettingsError.self) { try settings(profile: profile) }
        #expect(named?.description.contains(words) == true, "\(String(describing: named))")
        let byVariable = #expect(throws: S3SettingsError.self) {
            try settings(["AWS_PROFILE": profile])
        }
        #expect(byVariable?.description.contains(words) == true)
    }

    @Test func missingCredentialsAreAnError() throws {
        let error = #expect(throws: S3SettingsError.self) {
            try settings(credentials: nil, config: nil)
        }
        let words =
            "no credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and the "
            + "profile 'default' does not exist in "
        #expect(error?.description.hasPrefix(words) == true, "\(String(describing: error))")
        #expect(error?.description.contains("/.aws/config;") == true)
        #expect(try settings(Self.keys, credentials: nil, config: nil).credentials != nil)
    }

    @Test(arguments: [
        (nil, ["AWS_ACCESS_KEY_ID": "A"], "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is"),
        (
            nil, ["AWS_SECRET_ACCESS_KEY": "A"],
            "AWS_SECRET_ACCESS_KEY is set, but AWS_ACCESS_KEY_ID"
        ),
        (nil, ["AWS_PROFILE": "half"], "has no aws_secret_access_key;"),
        ("empty", [:], "has no aws_access_key_id and no aws_secret_access_key;"),
        ("half", [:], "no credentials: the profile 'half' in "),
    ])
    func anErrorNamesTheMissingPartOfCredentials(
        _ profile: String?, _ environment: [String: String], _ words: String
    ) {
        let environment = environment.merging(
            environment["AWS_PROFILE"] == nil ? ["AWS_PROFILE": "empty"] : [:]
        ) { $1 }
        let error = #expect(throws: S3SettingsError.self) {
            try settings(profile: profile, environment)
        }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
        #expect(error?.description.contains("HALFKEY") == false)
    }

    @Test(arguments: [
        ["AWS_ACCESS_KEY_ID": "A\r\nX: y"], ["AWS_ACCESS_KEY_ID": "A: B"],
        ["AWS_ACCESS_KEY_ID": "A/B"], ["AWS_SECRET_ACCESS_KEY": "é"],
        ["AWS_SESSION_TOKEN": "a b"], ["AWS_SESSION_TOKEN": "a\nb"],
        ["AWS_SESSION_TOKEN": String(repeating: "a", count: 10_000)],
    ])
    func credentialsThatCannotBeInHeaderFieldsAreRefused(_ environment: [String: String]) {
        let error = #expect(throws: S3SettingsError.self) {
            try settings(Self.keys.merging(environment) { $1 })
        }
        #expect(error?.description.contains("credentials") == true)
        #expect(error?.description.contains("envsecret") == false)
    }

    /// OpenStack Swift has keys of the form `account:user`.
    @Test func accessKeysCanContainColons() throws {
        let key = ["AWS_ACCESS_KEY_ID": "AUTH_1:me:2", "AWS_SECRET_ACCESS_KEY": "a:b"]
        let credentials = try settings(key).credentials
        #expect(credentials == S3Credentials(accessKey: "AUTH_1:me:2", secretKey: "a:b"))
        let file = "[swift]\naws_access_key_id = account:user\naws_secret_access_key = x:y"
        let stored = try settings(profile: "swift", credentials: file).credentials
        #expect(stored == S3Credentials(accessKey: "account:user", secretKey: "x:y"))
    }

    // MARK: Region

    @Test func theRegionComesFromTheFirstSourceThatHasOne() throws {
        var environment: [String: String] = [:]
        #expect(try settings(Self.keys, credentials: nil, config: nil).region == "us-east-1")
        #expect(try settings().region == "default-region-1")
        environment["AWS_PROFILE"] = "other"
        #expect(try settings(environment).region == "other-region-1")
        #expect(try settings(profile: "keys", environment).region == "keys-region-1")
        environment["AWS_DEFAULT_REGION"] = "third-1"
        #expect(try settings(environment).region == "third-1")
        environment["AWS_REGION"] = "second-1"
        #expect(try settings(environment).region == "second-1")
        #expect(try settings(region: "first-1", environment).region == "first-1")
        environment["AWS_REGION"] = ""
        #expect(try settings(environment).region == "third-1")
    }

    @Test(arguments: ["a b", "a/b", "a:b", "é", "a\nb", String(repeating: "a", count: 65)])
    func invalidRegionsAreRefused(_ region: String) {
        #expect(throws: S3SettingsError.self) { try settings(region: region) }
        #expect(throws: S3SettingsError.self) { try settings(["AWS_REGION": region]) }
    }

    // MARK: Endpoint

    @Test func theEndpointComesFromTheFirstSourceThatHasOne() throws {
        func endpoint(
            _ given: String? = nil, _ environment: [String: String] = [:]
        ) throws -> String? {
            try settings(endpoint: given, environment).endpoint?.string
        }
        var environment: [String: String] = [:]
        #expect(try endpoint() == nil)
        environment["AWS_PROFILE"] = "both"
        #expect(try endpoint(nil, environment) == "http://both.example/")
        environment["AWS_PROFILE"] = "other"
        #expect(try endpoint(nil, environment) == "http://services.example/")
        environment["AWS_ENDPOINT_URL"] = "http://third.example"
        #expect(try endpoint(nil, environment) == "http://third.example/")
        environment["AWS_ENDPOINT_URL_S3"] = "http://second.example"
        #expect(try endpoint(nil, environment) == "http://second.example/")
        #expect(try endpoint("http://first.example", environment) == "http://first.example/")
        environment["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "TRUE"
        #expect(try endpoint(nil, environment) == nil)
        #expect(try endpoint("http://first.example", environment) == "http://first.example/")
    }

    @Test(arguments: [
        "", "first.example", "s3://first.example", "http://", "http://user:pw@first.example",
        "http://first.example/?x", "ftp://first.example",
    ])
    func invalidEndpointsAreRefused(_ endpoint: String) {
        let error = #expect(throws: S3SettingsError.self) { try settings(endpoint: endpoint) }
        #expect(error?.description.contains("pw") == false)
    }

    @Test(arguments: [
        ("s3://abc", "us-east-1", "https://abc.s3.us-east-1.amazonaws.com"),
        ("s3://abc", "cn-north-1", "https://abc.s3.cn-north-1.amazonaws.com.cn"),
        // A wildcard in a certificate does not match a dot.
        ("s3://a.bc", "eu-west-3", "https://s3.eu-west-3.amazonaws.com/a.bc"),
    ])
    func amazonBucketURLsDependOnTheRegionAndTheName(
        _ location: String, _ region: String, _ url: String
    ) throws {
        let settings = S3Settings(location: try S3Location(location), region: region)
        #expect(settings.bucketURL == url)
    }

    // MARK: Files

    @Test func environmentVariablesSelectTheFiles() throws {
        try withTemporaryDirectory { directory in
            try Self.credentialsFile.write(
                toFile: directory.path("a"), atomically: false, encoding: .utf8)
            try Self.configFile.write(
                toFile: directory.path("b"), atomically: false, encoding: .utf8)
            let environment = [
                "AWS_SHARED_CREDENTIALS_FILE": directory.path("a"),
                "AWS_CONFIG_FILE": directory.path("b"), "AWS_PROFILE": "other",
            ]
            let found = try settings(environment, credentials: nil, config: nil)
            #expect(found.credentials?.accessKey == "OTHERKEY")
            #expect(found.endpoint?.string == "http://services.example/")
        }
    }

    @Test(arguments: ["AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"])
    func unreadableFilesAreAnError(_ variable: String) throws {
        try withTemporaryDirectory { directory in
            let folder = #expect(throws: S3SettingsError.self) {
                try settings(Self.keys.merging([variable: directory.path]) { $1 })
            }
            #expect(folder?.description.hasPrefix(directory.path) == true)
            try Data(count: (1 << 20) + 1).write(to: URL(fileURLWithPath: directory.path("long")))
            let long = #expect(throws: S3SettingsError.self) {
                try settings(Self.keys.merging([variable: directory.path("long")]) { $1 })
            }
            #expect(long?.description.contains("longer than") == true)
            #expect(throws: S3SettingsError.self) {
                try settings(Self.keys.merging([variable: "/dev/zero"]) { $1 })
            }
            // A missing file is allowed.
            let found = try settings(Self.keys.merging([variable: "/nonexistent/x"]) { $1 })
            #expect(found.credentials?.accessKey == "ENVKEY")
        }
    }

    /// CRLF line endings, spaces in a section name, and invalid lines.
    @Test func unusualFilesAreParsedOrRefused() throws {
        let text = Self.credentialsFile.replacing("\n", with: "\r\n")
        #expect(try settings(credentials: text).credentials?.secretKey == "defaultsecret")
        #expect(
            try settings(credentials: "[ default ]\n" + text.dropFirst(10)).credentials?.accessKey
                == "DEFAULTKEY")
        #expect(throws: S3SettingsError.self) {
            try settings(credentials: "]]=[\n=\n[\n[]\n\u{0}=\u{0}\n= x\nx\n", config: nil)
        }
    }
}
