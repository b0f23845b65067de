import Foundation

struct AWSProfiles {
    private let name: String
    private let shared: AWSProfileFile
    private let config: AWSProfileFile
    private let section: String
    private let files: String

    init(
        named name: String, mustExist: Bool, credentials: String, config: String
    ) throws(S3SettingsError) {
        self.name = name
        shared = try AWSProfileFile(path: credentials)
        self.config = try AWSProfileFile(path: config)
        section = name == "default" && self.config.has("default") ? name : "profile \(name)"
        files = "\(credentials) or \(config)"
        guard !mustExist || exists else { throw S3SettingsError(absence) }
    }

    private var exists: Bool { shared.has(name) || config.has(section) }
    private var absence: String { "the profile '\(name)' does not exist in \(files)" }

    func value(_ key: String) -> String? {
        shared.value(key, in: name) ?? config.value(key, in: section)
    }

    var endpoint: String? {
        let services = value("services").map { "services \($0)" }
        return services.flatMap { config.value("s3.endpoint_url", in: $0) } ?? value("endpoint_url")
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

/// A file of AWS profiles. https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
struct AWSProfileFile {
    /// Values by section and name. An indented name is stored as `outer.inner`.
    private var sections: [String: [String: String]] = [:]

    init(path: String) throws(S3SettingsError) {
        guard let file = FileHandle(forReadingAtPath: path) else {
            if access(path, F_OK) != 0 { return }
            throw S3SettingsError("\(path): \(String(cString: strerror(errno)))")
        }
        let limit = 1 << 20
        guard let data = try? file.read(upToCount: limit + 1) ?? Data() else {
            throw S3SettingsError("\(path): cannot be read")
        }
        guard data.count <= limit else {
            throw S3SettingsError("\(path): longer than \(limit) bytes")
        }
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
            sections[section, default: [:]][isInner ? "\(outer).\(name)" : name] = value
        }
    }

    func has(_ section: String) -> Bool { sections[section] != nil }

    func value(_ name: String, in section: String) -> String? {
        sections[section]?[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
