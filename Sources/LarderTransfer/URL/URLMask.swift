extension String {
    /// A URL's text with `***` where its credentials were.
    package var showingMask: String {
        guard let authority = utf8.firstRange(of: "://".utf8)?.upperBound else { return self }
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
                SecretParameter.isOne(parameter[..<equals], parameter[equals...].dropFirst())
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

/// The parameters by which URLs carry secrets.
private enum SecretParameter {
    /// What the name of one has somewhere, `-`, `_` and case disregarded.
    ///
    /// Those of AWS (`X-Amz-Signature`, `X-Amz-Credential`, `X-Amz-Security-Token`,
    /// `AWSAccessKeyId`, `Signature`), Google (`X-Goog-Signature`), and of what OpenTelemetry's
    /// semantic conventions (`url.full`) and error trackers scrub by default.
    private static let parts: [StaticString] = [
        "signature", "token", "secret", "password", "passwd", "passphrase", "credential",
        "accesskey", "apikey", "session", "hmac", "authorization", "bearer",
    ]
    /// What is one if it is a whole word of the name: Azure's `sig`, Google's `key`,
    /// CloudFront's `Policy` and `Key-Pair-Id`, Akamai's `hdnts`, Alibaba's `auth_key`.
    private static let words = Set(
        [
            "sig", "sign", "key", "auth", "oauth", "pwd", "pass", "jwt", "policy", "hdnts", "hdnea",
        ].map { Array($0.utf8) })

    static func isOne(_ name: Substring.UTF8View, _ value: Substring.UTF8View) -> Bool {
        let words = words(of: decoded(name))
        if words.contains(where: Self.words.contains) { return true }
        let joined = Array(words.joined())
        if parts.contains(where: { joined.holds($0) }) { return true }
        // Akamai's has any name, and another URL may have its own password.
        let value = decoded(value)
        return value.holds("hmac=") || value.holds("://") && value.contains(UInt8(ascii: "@"))
    }

    /// In lower case: of `X-Amz-Signature` and `authKey` two and more.
    private static func words(of name: [UInt8]) -> [[UInt8]] {
        var words: [[UInt8]] = [[]]
        var isLower = false
        for byte in name {
            let isUpper = 0x41...0x5A ~= byte
            if "-_.[]".utf8.contains(byte) {
                words.append([])
            } else {
                if isLower, isUpper { words.append([]) }
                words[words.count - 1].append(isUpper ? byte | 0x20 : byte)
            }
            isLower = 0x61...0x7A ~= byte
        }
        return words
    }

    /// As a server reads it.
    private static func decoded(_ text: Substring.UTF8View) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"),
                let value = UInt8(Substring(rest.prefix(2)), radix: 16), rest.count >= 2
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}
