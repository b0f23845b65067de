import Foundation

/// An AWS profile. https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
struct AWSProfiles {
    /// Values by section and name. An indented name is stored as `outer.inner`.
    private typealias Sections = [String: [String: String]]

    private let name: String
    private let shared: Sections
    private let config: Sections
    private let section: String
    private let files: String

    init(
        named name: String, mustExist: Bool, credentials: String, config: String
    ) throws(S3SettingsError) {
        self.name = name
        shared = try Self.sections(inFile: credentials)
        self.config = try Self.sections(inFile: config)
        section = name == "default" && self.config[name] != nil ? name : "profile \(name)"
        files = "\(credentials) or \(config)"
        guard !mustExist || exists else { throw S3SettingsError(absence) }
    }

    private static func sections(inFile path: String) throws(S3SettingsError) -> Sections {
        guard let file = FileHandle(forReadingAtPath: path) else {
            if access(path, F_OK) != 0 { return [:] }
            throw S3SettingsError("\(path): \(String(cString: strerror(errno)))")
        }
        let limit = 1 << 20
        guard let data = try? file.read(upToCount: limit + 1) ?? Data() else {
            throw S3SettingsError("\(path): cannot be read")
        }
        guard data.count <= limit else {
            throw S3SettingsError("\(path): longer than \(limit) bytes")
        }
        var sections: Sections = [:]
        var (section, outer) = ("", "")
        for line in String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let content = line.trimmingPrefix { $0.isWhitespace }
            guard let first = content.first, first != "#", first != ";" else { continue }
            if first == "[" {
                let name = content.dropFirst().prefix { $0 != "]" }
                section = name.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                outer = ""
                continue
            }
            guard let equals = content.firstIndex(of: "=") else { continue }
            let name = content[..<equals].trimmingCharacters(in: .whitespaces).lowercased()
            let value = content[equals...].dropFirst().trimmingCharacters(in: .whitespaces)
            let isInner = line.first?.isWhitespace == true && !outer.isEmpty
            if !isInner { outer = value.isEmpty ? name : "" }
            let key = isInner ? "\(outer).\(name)" : name
            sections[section, default: [:]][key] = value.isEmpty ? nil : value
        }
        return sections
    }

    private var exists: Bool { shared[name] != nil || config[section] != nil }
    private var absence: String { "the profile '\(name)' does not exist in \(files)" }

    func value(_ key: String) -> String? { shared[name]?[key] ?? config[section]?[key] }

    var endpoint: String? {
        let services = value("services").flatMap { config["services \($0)"] }
        return services?["s3.endpoint_url"] ?? value("endpoint_url")
    }

    /// - Parameter lack: A message about missing variables. Nil if a profile was explicitly chosen.
    func credentials(lackingOthers lack: String?) throws(S3SettingsError) -> S3Credentials {
        let (accessKey, secretKey) = ("aws_access_key_id", "aws_secret_access_key")
        if let access = value(accessKey), let secret = value(secretKey) {
            return S3Credentials(
                accessKey: access, secretKey: secret, sessionToken: value("aws_session_token"))
        }
        let unsupported = [
            "credential_process", "role_arn", "sso_session", "sso_start_url",
            "web_identity_token_file",
        ]
        if let key = unsupported.first(where: { value($0) != nil }) {
            throw S3SettingsError(
                "the profile '\(name)' uses '\(key)', which is not supported; export its "
                    + "credentials with 'aws configure export-credentials --format env'")
        }
        let lacking = [accessKey, secretKey].filter { value($0) == nil }
            .joined(separator: " and no ")
        let own = exists ? "the profile '\(name)' in \(files) has no \(lacking)" : absence
        throw S3SettingsError(
            "no credentials: \([lack, own].compactMap(\.self).joined(separator: ", and "));"
                + " use --remote-unsigned if the bucket is public")
    }
}
