extension String {
    /// A URL's text with `***` where its credentials were.
    package var showingMask: String {
        guard let authority = firstRange(of: "://")?.upperBound else { return self }
        return "\(self[..<authority])***@\(self[authority...])"
    }

    /// A URL's text with `***` in place of its query, whatever that holds.
    package var maskingQuery: String {
        guard let mark = utf8.firstIndex(of: UInt8(ascii: "?")) else { return self }
        return "\(self[...mark])***"
    }

    /// A URL's text with `***` for each value in its query whose name says that it is a secret.
    package var maskingSecretsInQuery: String {
        guard let mark = utf8.firstIndex(of: UInt8(ascii: "?")) else { return self }
        let query = self[index(after: mark)...].utf8
        var masked = String(self[...mark])
        var rest = query
        while true {
            let end = rest.firstIndex { "&;".utf8.contains($0) } ?? rest.endIndex
            let parameter = rest[..<end]
            if let equals = parameter.firstIndex(of: UInt8(ascii: "=")),
                SecretParameter.isOne(parameter[..<equals])
            {
                masked += "\(Substring(parameter[...equals]))***"
            } else {
                masked += Substring(parameter)
            }
            guard end < rest.endIndex else { return masked }
            masked += Substring(rest[end...end])
            rest = rest[rest.index(after: end)...]
        }
    }
}

/// The names of the parameters by which URLs carry secrets.
private enum SecretParameter {
    /// What such a name has somewhere, `-`, `_` and case disregarded.
    ///
    /// Those of AWS (`X-Amz-Signature`, `X-Amz-Credential`, `X-Amz-Security-Token`, `AWSAccessKeyId`,
    /// `Signature`), Google (`X-Goog-Signature`), and of what OpenTelemetry's semantic conventions
    /// (`url.full`) and error trackers scrub by default.
    private static let parts = [
        "signature", "token", "secret", "password", "passwd", "credential", "accesskey", "apikey",
        "session", "hmac", "authorization",
    ]
    /// What is one where it is a whole word of the name: Azure's `sig`, Google's `key`, CloudFront's
    /// `Policy` and `Key-Pair-Id`, Akamai's `hdnts`, Alibaba's `auth_key`.
    private static let words: Set = [
        "sig", "sign", "key", "auth", "oauth", "pwd", "pass", "jwt", "policy", "hdnts", "hdnea",
    ]

    static func isOne(_ name: Substring.UTF8View) -> Bool {
        let name = Substring(name).lowercased()
        let split = name.split { "-_.[]".contains($0) }
        if split.contains(where: { words.contains(String($0)) }) { return true }
        let joined = split.joined()
        return parts.contains { joined.contains($0) }
    }
}
