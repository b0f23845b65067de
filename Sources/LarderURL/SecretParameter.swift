/// The parameters by which URLs carry secrets.
package enum SecretParameter {
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

    /// The maximum number of URLs within each other that are looked at. A parameter of a deeper one
    /// counts as a secret.
    private static let deepest = 3

    /// Whether a parameter of that name and value is one; both percent-encoded or not.
    package static func isOne(_ name: Substring.UTF8View, _ value: Substring.UTF8View) -> Bool {
        isOne(Array(name), value.percentDecoded)
    }

    /// The same, also if its value is a URL with one in its query or fragment.
    package static func hasOne(_ name: Substring.UTF8View, _ value: Substring.UTF8View) -> Bool {
        hasOne(Array(name), Array(value), depth: 0)
    }

    private static func hasOne(_ name: [UInt8], _ value: [UInt8], depth: Int) -> Bool {
        let value = value.percentDecoded
        if depth > deepest || isOne(name, value) { return true }
        guard let mark = value.firstIndex(where: { "?#".utf8.contains($0) }) else { return false }
        return value[mark...].split { "?&#;".utf8.contains($0) }.contains { parameter in
            guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")) else { return false }
            return hasOne(
                Array(parameter[..<equals]), Array(parameter[equals...].dropFirst()),
                depth: depth + 1)
        }
    }

    private static func isOne(_ name: [UInt8], _ value: [UInt8]) -> Bool {
        let words = words(of: name.percentDecoded)
        if words.contains(where: Self.words.contains) { return true }
        let joined = Array(words.joined())
        if parts.contains(where: { joined.holds($0) }) { return true }
        // Akamai's tokens and JSON Web Tokens (RFC 7519) have any name, and another URL may have its
        // own password.
        return value.holds("hmac=") || isWebToken(value) || value.holds("://") && value.contains(UInt8(ascii: "@"))
    }

    /// Whether a value has the form of a signed JSON Web Token: three parts in base64url, of which
    /// the first two are JSON objects and so begin with `eyJ`.
    private static func isWebToken(_ value: [UInt8]) -> Bool {
        let parts = value.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return (3...5).contains(parts.count) && parts[0].starts(with: "eyJ".utf8)
            && parts[0].count >= 16
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
}
