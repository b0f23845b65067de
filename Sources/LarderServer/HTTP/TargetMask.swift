import LarderCore

/// A target or URL with its secrets masked, including secrets in nested URLs. Masking runs on an
/// event loop, so its time is proportional to the length, which is limited.
struct TargetMask {
    /// The maximum length of a target in bytes. Most percent-encoded URLs of 8 KiB fit.
    static let longest = 16 << 10
    private static let mostParameters = 100
    /// The maximum length of a name in bytes. A parameter with a longer name is masked.
    private static let longestName = 256
    private static let mostDecodings = 3
    private static let mask = "***"

    private var text: String
    private var isMasked = false

    private init(_ text: String) { self.text = text }

    /// Returns the target for output. A target without secrets is unchanged. If the target is too
    /// long or has too many parameters, the whole query is masked.
    static func shown(_ target: String) -> String {
        if let shown = masked(target) { return shown.sanitizedForTerminal }
        guard let mark = target.utf8.firstIndex(where: { "?#".utf8.contains($0) }),
            let place = masked(String(target[..<mark]))
        else { return mask }
        return "\(place)\(target[mark...mark])\(mask)".sanitizedForTerminal
    }

    static func hasSecret(_ url: String) -> Bool {
        masked(url)?.utf8.elementsEqual(url.utf8) != true
    }

    private static func masked(_ target: String) -> String? {
        guard target.utf8.count <= longest else { return nil }
        var mask = TargetMask(target)
        guard mask.maskSecrets() else { return nil }
        for _ in 0..<mostDecodings where mask.isEncoded {
            mask.decode(PercentDecoding.text)
            guard mask.maskSecrets() else { return nil }
        }
        // Segments that are still encoded are masked, because they may contain secrets.
        if mask.isEncoded {
            mask.decode { $0.contains(UInt8(ascii: "%")) ? nil : String(Substring($0)) }
        }
        return mask.isMasked ? mask.text : target
    }

    private var isEncoded: Bool { text.utf8.contains(UInt8(ascii: "%")) }

    /// Masks an authority up to its last `@`, and other text like `user:password@`.
    private mutating func maskUserinfo() {
        guard text.utf8.contains(UInt8(ascii: "@")) else { return }
        text = Self.mapSegments(of: text) { segment, isAuthority in
            guard let at = segment.lastIndex(of: UInt8(ascii: "@")),
                isAuthority || segment[..<at].contains(UInt8(ascii: ":")),
                !segment[..<at].elementsEqual(Self.mask.utf8)
            else { return String(Substring(segment)) }
            isMasked = true
            return "\(Self.mask)\(Substring(segment[at...]))"
        }
    }

    /// Masks all secrets. Returns false if there are too many parameters.
    private mutating func maskSecrets() -> Bool {
        maskUserinfo()
        guard let first = text.utf8.firstIndex(where: Self.isMark) else { return true }
        var result = String(text[..<first])
        var rest = text.utf8[first...]
        for _ in 0..<Self.mostParameters {
            guard let mark = rest.popFirst() else { break }
            result.unicodeScalars.append(Unicode.Scalar(mark))
            let parameter = rest.prefix { !Self.isMark($0) }
            rest = rest[parameter.endIndex...]
            let equals = parameter.firstIndex(of: UInt8(ascii: "="))
            let isSecret =
                equals.map { Self.isSecret(parameter[..<$0], parameter[$0...].dropFirst()) }
                ?? SecretParameter.isToken(decoded: parameter.percentDecoded)
            guard isSecret else {
                result += Substring(parameter)
                continue
            }
            isMasked = true
            result += "\(Substring(equals.map { parameter[...$0] } ?? parameter.prefix(0)))"
            result += Self.mask
            // The value is masked up to `&`, because some servers end a parameter only there.
            rest = rest.drop { $0 != UInt8(ascii: "&") }
        }
        text = result
        return rest.isEmpty
    }

    private static func isMark(_ byte: UInt8) -> Bool { "?&#;".utf8.contains(byte) }

    private static func isSecret(_ name: Substring.UTF8View, _ value: Substring.UTF8View) -> Bool {
        // An encoded percent sign can hide the name.
        name.count > longestName || name.holds("%25") || SecretParameter.isOne(name, value)
    }

    /// Decodes each segment. If `decoded` returns nil, masks all but the name before `=`.
    private mutating func decode(_ decoded: (Substring.UTF8View) -> String?) {
        text = Self.mapSegments(of: text) { segment, isAuthority in
            if let decoded = decoded(segment) { return decoded }
            isMasked = true
            let equals = segment.firstIndex(of: UInt8(ascii: "="))
            let name = equals.map { segment[...$0] } ?? segment.prefix(0)
            // The name may be part of a user name and password.
            let isPlain = !isAuthority && !name.contains { "%:".utf8.contains($0) }
            return (isPlain ? String(Substring(name)) : "") + Self.mask
        }
    }

    /// Replaces the segments between the characters that can end an authority. A segment may be an
    /// authority if it begins a string that is not a path, or if it follows `//` or `http:/`, which
    /// many programs read as `http://`.
    private static func mapSegments(
        of text: String, _ body: (Substring.UTF8View, _ isAuthority: Bool) -> String
    ) -> String {
        func isSlash(_ byte: UInt8?) -> Bool {
            byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
        }
        var result = ""
        result.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        var before: (UInt8?, UInt8?) = (nil, nil)
        while true {
            let segment = rest.prefix { !isSlash($0) && !"?#".utf8.contains($0) }
            let isAuthority =
                before.1 == nil
                || isSlash(before.1) && (isSlash(before.0) || before.0 == UInt8(ascii: ":"))
            if !segment.isEmpty {
                result += body(segment, isAuthority)
                before = (segment.dropLast().last ?? before.1, segment.last)
            }
            rest = rest[segment.endIndex...]
            guard let end = rest.popFirst() else { return result }
            result.unicodeScalars.append(Unicode.Scalar(end))
            before = (before.1, end)
        }
    }
}

/// Percent-decoding of text from clients (RFC 3986, section 2.1).
enum PercentDecoding {
    /// Returns the decoded text, or nil if it is not UTF-8 or has control characters.
    static func text(_ text: Substring.UTF8View) -> String? {
        decoded(text).flatMap { $0.utf8.contains(where: isControl) ? nil : $0 }
    }

    /// Decodes a URL. Removes tabs and line breaks, as the URL standard requires.
    static func url(_ text: Substring.UTF8View) -> String? {
        guard var url = decoded(text) else { return nil }
        if url.utf8.contains(where: isControl) {
            url.unicodeScalars.removeAll { "\t\n\r".unicodeScalars.contains($0) }
        }
        return url.utf8.contains(where: isControl) ? nil : url
    }

    private static func decoded(_ text: Substring.UTF8View) -> String? {
        var rest = text[...]
        while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
            rest = rest[percent...].dropFirst()
            guard URLBytes.escaped(rest) != nil else { return nil }
        }
        // Foundation's `removingPercentEncoding` drops a byte order mark.
        return String(validating: text.percentDecoded, as: UTF8.self)
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }
}
