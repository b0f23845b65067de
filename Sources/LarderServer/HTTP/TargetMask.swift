import LarderCore

/// A request's target, or a URL, without the secrets in it: user names and passwords of URLs, and
/// parameters whose names or values say that they are secret. Both are looked for anywhere, in the
/// text as it is and as it is once percent-decoded, and so on, since it may hold a URL that holds
/// another.
///
/// It is made on an event loop: its time is proportional to the target's length, which is bounded,
/// and so is the number of parameters that are looked at.
struct TargetMask {
    /// Longer targets are refused, and of longer texts only what is before the query is shown.
    static let longest = 16 << 10
    private static let mostParameters = 100
    /// A longer one is none that anybody reads.
    private static let longestName = 256
    private static let mostDecodings = 3
    private static let mask = "***"

    private var text: String
    private var isMasked = false

    private init(_ text: String) { self.text = text }

    /// A target as the log shows it: unchanged if nothing in it is masked, else decoded. Of one
    /// that is too long, or has too many parameters, only what is before its query is shown.
    static func shown(_ target: String) -> String {
        if let shown = masked(target) { return shown.sanitizedForTerminal }
        guard let mark = target.utf8.firstIndex(where: { "?#".utf8.contains($0) }),
            let place = masked(String(target[..<mark]))
        else { return mask }
        return "\(place)\(target[mark...mark])\(mask)".sanitizedForTerminal
    }

    /// Whether a URL has a secret in it, or is too much to look at.
    static func hasSecret(_ url: String) -> Bool {
        masked(url)?.utf8.elementsEqual(url.utf8) != true
    }

    /// Nil if it is too much to look at.
    private static func masked(_ target: String) -> String? {
        guard target.utf8.count <= longest else { return nil }
        var mask = TargetMask(target)
        guard mask.maskAll() else { return nil }
        for _ in 0..<mostDecodings where mask.isEncoded {
            mask.decode(PercentDecoding.text)
            guard mask.maskAll() else { return nil }
        }
        // Nobody knows what is in what is encoded still.
        if mask.isEncoded {
            mask.decode { $0.contains(UInt8(ascii: "%")) ? nil : String(Substring($0)) }
        }
        return mask.isMasked ? mask.text : target
    }

    private var isEncoded: Bool { text.utf8.contains(UInt8(ascii: "%")) }

    private mutating func maskAll() -> Bool {
        maskUserinfo()
        return maskParameters()
    }

    /// Masks what is between the beginning of an authority and the last `@` before its end, and
    /// what has the form of a user and a password elsewhere.
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

    /// Masks the values of secret parameters.
    ///
    /// - Returns: false if there are too many.
    private mutating func maskParameters() -> Bool {
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
                ?? SecretParameter.isToken(parameter)
            guard isSecret else {
                result += Substring(parameter)
                continue
            }
            isMasked = true
            result += "\(Substring(equals.map { parameter[...$0] } ?? parameter.prefix(0)))"
            result += Self.mask
            // Not all servers take what else ends a parameter here for the end of one.
            rest = rest.drop { $0 != UInt8(ascii: "&") }
        }
        text = result
        return rest.isEmpty
    }

    private static func isMark(_ byte: UInt8) -> Bool { "?&#;".utf8.contains(byte) }

    private static func isSecret(_ name: Substring.UTF8View, _ value: Substring.UTF8View) -> Bool {
        // A percent sign that is encoded itself hides the name.
        name.count > longestName || name.holds("%25") || SecretParameter.isOne(name, value)
    }

    /// Decodes each segment; masks one for which `decoded` is nil, all but the name in front of its
    /// first equals sign.
    private mutating func decode(_ decoded: (Substring.UTF8View) -> String?) {
        text = Self.mapSegments(of: text) { segment, isAuthority in
            if let decoded = decoded(segment) { return decoded }
            isMasked = true
            let equals = segment.firstIndex(of: UInt8(ascii: "="))
            let name = equals.map { segment[...$0] } ?? segment.prefix(0)
            // It may be a part of a user and a password.
            let isPlain = !isAuthority && !name.contains { "%:".utf8.contains($0) }
            return (isPlain ? String(Substring(name)) : "") + Self.mask
        }
    }

    /// Replaces what is between the characters at which an authority ends.
    ///
    /// - Parameter body: `isAuthority` is whether it may be one: at the beginning of what is no
    ///   path, behind `//`, or behind `http:/`, which many read as that.
    private static func mapSegments(
        of text: String, _ body: (Substring.UTF8View, _ isAuthority: Bool) -> String
    ) -> String {
        func isSlash(_ byte: UInt8?) -> Bool {
            byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
        }
        var result = ""
        result.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        // The last two bytes before it.
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

/// Percent-decoding of what a client sends (RFC 3986, section 2.1).
enum PercentDecoding {
    /// The bytes that a text stands for; a plus sign stands for itself. Nil if a percent sign has
    /// not two digits behind it.
    static func bytes(_ text: Substring.UTF8View) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit),
                let low = rest.popFirst().flatMap(digit)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Returns the URL that `text` stands for, without the tabs and line breaks that the URL
    /// standard removes; nil if it is not text, or has other control characters.
    static func url(_ text: Substring.UTF8View) -> String? {
        bytes(text).flatMap { Self.text(of: $0.filter { !"\t\n\r".utf8.contains($0) }) }
    }

    /// The text that it stands for; nil if that is none, or has control characters.
    static func text(_ text: Substring.UTF8View) -> String? { bytes(text).flatMap(Self.text(of:)) }

    private static func text(of bytes: [UInt8]) -> String? {
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
