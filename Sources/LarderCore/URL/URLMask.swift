package enum SecretParameter {
    /// Parts of secret parameters' names, in lower case without `-` and `_`. Sources: AWS, Google,
    /// OpenTelemetry's semantic conventions (`url.full`) and error trackers.
    private static let parts: [StaticString] = [
        "signature", "token", "secret", "password", "passwd", "passphrase", "credential",
        "accesskey", "apikey", "session", "sessid", "hmac", "authorization", "bearer",
    ]
    /// Words in secret parameters' names, such as Azure's `sig`, Google's `key`, CloudFront's
    /// `Policy` and `Key-Pair-Id`, Akamai's `hdnts` and Alibaba's `auth_key`.
    private static let words = Set(
        "sig sign key auth oauth pwd pass jwt policy hdnts hdnea".utf8.split(separator: 0x20)
            .map { Array($0) })

    /// The maximum depth of nested URLs. Deeper parameters count as secrets.
    private static let deepest = 3

    /// Whether a parameter is a secret, or its value is a URL that contains one after `?` or `#`.
    package static func hasOne(
        _ name: some Collection<UInt8>, _ value: some Collection<UInt8>, depth: Int = 0
    ) -> Bool {
        if depth > deepest || isOne(name, value) { return true }
        let value = value.percentDecoded
        guard let mark = value.firstIndex(where: { "?#".utf8.contains($0) }) else { return false }
        return value[mark...].split { "?&#;".utf8.contains($0) }.contains { parameter in
            let equals = parameter.firstIndex(of: UInt8(ascii: "="))
            return hasOne(
                parameter[..<(equals ?? parameter.startIndex)],
                equals.map { parameter[$0...].dropFirst() } ?? parameter, depth: depth + 1)
        }
    }

    package static func isOne(
        _ name: some Collection<UInt8>, _ value: some Collection<UInt8>
    ) -> Bool {
        let words = words(of: name.percentDecoded)
        if words.contains(where: Self.words.contains) { return true }
        let joined = Array(words.joined())
        if parts.contains(where: { joined.holds($0) }) { return true }
        // Some tokens, such as Akamai's, can have any name. A nested URL may contain a password.
        let value = value.percentDecoded
        return value.holds("hmac=") || isToken(decoded: value)
            || value.holds("://") && value.contains(UInt8(ascii: "@"))
    }

    /// Whether a value is a JSON Web Token (RFC 7519) or HTTP credentials (RFC 9110, section 11.4).
    package static func isToken(decoded value: [UInt8]) -> Bool {
        // A signed token starts with a JSON object in base64url (`eyJ…`).
        let parts = value.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if 3...5 ~= parts.count, parts[0].starts(with: "eyJ".utf8), parts[0].count >= 16 {
            return true
        }
        let scheme = value.prefix(while: \.isASCIILetterOrDigit)
        guard scheme.isWord("bearer") || scheme.isWord("basic") else { return false }
        // In a query, `+` is a space, and `%20` is a space that was encoded twice.
        let rest = value[scheme.endIndex...]
        return rest.count > 1
            && (" +".utf8.contains(rest[rest.startIndex]) || rest.starts(with: "%20".utf8))
    }

    /// Splits a name into lower-case words, for example `authKey` into `auth` and `key`.
    private static func words(of name: [UInt8]) -> [[UInt8]] {
        var words: [[UInt8]] = [[]]
        var isLower = false
        for byte in name {
            let isSeparator = "-_.[]".utf8.contains(byte)
            if isSeparator || isLower && 0x41...0x5A ~= byte { words.append([]) }
            if !isSeparator { words[words.count - 1].append(byte.lowercasedASCII) }
            isLower = 0x61...0x7A ~= byte
        }
        return words
    }
}

extension String {
    package var showingMask: String {
        guard let authority = utf8.firstRange(of: "://".utf8)?.upperBound else { return self }
        return "\(self[..<authority])***@\(self[authority...])"
    }

    package var maskingQuery: String {
        guard let mark = utf8.firstIndex(of: UInt8(ascii: "?")) else { return self }
        return "\(self[...mark])***"
    }

    /// The URL with `***` for each secret in its query, even in parameters without a name.
    package var maskingSecretsInQuery: String {
        guard let mark = utf8.firstIndex(of: UInt8(ascii: "?")) else { return self }
        var masked = String(self[...mark])
        var rest = self[index(after: mark)...].utf8
        while true {
            let parameter = rest.prefix { !"&;".utf8.contains($0) }
            let equals = parameter.firstIndex(of: UInt8(ascii: "="))
            let name = equals.map { parameter[...$0] } ?? parameter.prefix(0)
            let isSecret = SecretParameter.hasOne(name.dropLast(), parameter[name.endIndex...])
            masked += Substring(isSecret ? name : parameter)
            if isSecret { masked += "***" }
            rest = rest[parameter.endIndex...]
            guard let end = rest.popFirst() else { return masked }
            masked.unicodeScalars.append(Unicode.Scalar(end))
        }
    }

    package var shownAsURL: String { maskingSecretsInQuery.sanitizedForTerminal }

    /// Masks the query, and user information up to the last `@`, as passwords may contain slashes.
    package var maskingSecrets: String {
        guard let at = utf8.lastIndex(of: UInt8(ascii: "@")) else { return maskingQuery }
        let start = authorityStart
        return (start <= at ? "\(self[..<start])***\(self[at...])" : self).maskingQuery
    }

    /// The text without a URL's user name and password, which an index must not contain.
    package var removingUserinfo: String {
        guard let (start, host) = authority else { return self }
        return String(self[..<start] + self[host.lowerBound...])
    }

    package var hostAndPort: String? { authority.map { String(self[$0.host]) } }

    private var authority: (start: Index, host: Range<Index>)? {
        let start = authorityStart
        guard start > startIndex else { return nil }
        let end = utf8[start...].firstIndex { "/?#".utf8.contains($0) } ?? endIndex
        let at = utf8[start..<end].lastIndex(of: UInt8(ascii: "@"))
        return (start, (at.map(utf8.index(after:)) ?? start)..<end)
    }

    /// The index after the slashes that start the text or follow the scheme. Without such slashes,
    /// the start index.
    private var authorityStart: Index {
        guard let slash = utf8.firstIndex(where: HTTPURL.isSlash),
            slash == startIndex || utf8[utf8.index(before: slash)] == UInt8(ascii: ":")
        else { return startIndex }
        return utf8[slash...].firstIndex { !HTTPURL.isSlash($0) } ?? endIndex
    }

    package var withoutFinalDot: String {
        utf8.last == UInt8(ascii: ".") ? String(decoding: utf8.dropLast(), as: UTF8.self) : self
    }

    /// The text without the characters that ``HTTPURL`` ignores.
    package var bytesOfURL: [UInt8] {
        var text = Array(utf8).drop { $0 <= 0x20 }
        while let last = text.last, last <= 0x20 { text.removeLast() }
        func isIgnored(_ byte: UInt8) -> Bool { byte == 0x09 || byte == 0x0A || byte == 0x0D }
        return text.contains(where: isIgnored) ? text.filter { !isIgnored($0) } : Array(text)
    }
}
