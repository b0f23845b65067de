import Foundation
import LarderCore
import LarderHTTP

/// The header fields of requests, except conditions and ranges. Plans use them to select the
/// variant of a response (RFC 9111, section 4.1).
struct RequestHeaders: Sendable {
    private let rules: [HeaderRule]
    private let defaults: FieldList
    private let usesNetrc: Bool

    init(
        rules: [HeaderRule] = [], for transfer: TransferConfiguration = .init(),
        accept: String = "image/*,*/*;q=0.8"
    ) {
        (self.rules, usesNetrc) = (rules, transfer.netrcFile != nil)
        let agent = (name: "User-Agent", value: transfer.userAgent)
        defaults = [(name: "Accept", value: accept), agent].filter { !$0.value.isEmpty }
    }

    /// A field for the host replaces a field for all hosts, and both replace a default.
    func sent(to url: HTTPURL, isRedirected: Bool) -> FieldList {
        guard !rules.isEmpty else { return defaults }
        let ofHost = rules.filter { $0.host?.matches(url) ?? false }
        let general = isRedirected ? [] : rules.filter { $0.host == nil }
        var fields = ofHost.map { (name: $0.name, value: $0.value) }
        for more in [general.map { (name: $0.name, value: $0.value) }, defaults] {
            let taken = Set(fields.map { $0.name.lowercased() })
            fields += more.filter { !taken.contains($0.name.lowercased()) }
        }
        return fields
    }

    func arePersonal(for url: String, hasCredentials: Bool) -> Bool {
        if hasCredentials || usesNetrc { return true }
        guard !rules.isEmpty, let url = try? HTTPURL(url) else { return false }
        return sent(to: url, isRedirected: false).contains { name, _ in
            !Self.impersonal.contains(name.lowercased())
        }
    }

    private static let impersonal: Set = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "user-agent", "referer",
        "origin", "cache-control", "pragma", "dnt",
    ]

    /// Returns the fields that select a variant. Random values replace secrets, because a digest
    /// could reveal them. Variants with random values are always revalidated.
    func selecting(for url: HTTPURL, isRedirected: Bool, hasCredentials: Bool) -> FieldList {
        let open: Set = ["accept", "accept-charset", "accept-language", "user-agent"]
        var fields = sent(to: url, isRedirected: isRedirected).map { name, value in
            open.contains(name.lowercased()) ? (name, value) : (name, UUID().uuidString)
        }
        if hasCredentials || (usesNetrc && !isRedirected) {
            fields.append(("Authorization", UUID().uuidString))
        }
        return fields
    }
}

/// A header field chosen by the user, and the hosts that receive it. `Name: value` is sent to the
/// origins in manifests, but not to others after a redirect, because the value may be secret.
/// `example.com: Name: value` and `example.com:8080: Name: value` are sent to that host only.
public struct HeaderRule: Sendable, Equatable {
    /// The error for an invalid rule. The description omits the rule, which may contain a secret.
    public enum ParseError: String, Error, Sendable, CaseIterable, CustomStringConvertible {
        /// The text before the colon is empty.
        case noName = "expected 'Name: value' or 'host: Name: value'"
        /// The host before the first colon is invalid.
        case badHost = "the text before the first colon is not a valid host"
        /// The name is invalid, or the value has control characters.
        case notSendable = "the name is not a token, or the value contains control characters"
        /// The value looks like another field, so the name may be a host.
        case ambiguous = """
            the value looks like another field; if the name is a host without a dot, add a port, \
            for example 'intranet:443: Name: value'
            """
        /// Larder sets the field itself, for framing, the connection or conditions.
        case reserved = "larder sets this field itself"

        /// The reason why the rule is invalid.
        public var description: String { rawValue }
    }

    /// The name of the field.
    public let name: String
    /// The value, without surrounding blanks.
    public let value: String
    /// The only host that receives the field, or nil for all hosts in manifests.
    public let host: HostPattern?

    /// Parses a rule. The text before the first colon is a host if it contains a dot, is in
    /// brackets, is `localhost`, or is followed by a port and `: `.
    public init(_ text: String) throws(ParseError) {
        let (hostText, field) = Self.split(text)
        host = hostText.flatMap { HostPattern(String($0)) }
        if hostText != nil, host == nil { throw .badHost }
        guard let colon = field.firstIndex(of: ":") else { throw .noName }
        name = String(Substring(field[..<colon].utf8.trimmingBlanks))
        value = String(Substring(field[field.index(after: colon)...].utf8.trimmingBlanks))
        guard !name.isEmpty else { throw .noName }
        guard HeaderFields.isSendable(name: name, value: value) else { throw .notSendable }
        // Without this check, `intranet: Authorization: …` would send the secret to every host.
        let first = value.prefix { $0 != ":" }
        guard
            host != nil || first.endIndex == value.endIndex || first.first?.isLetter != true
                || first.contains(where: \.isWhitespace)
                || !value[first.endIndex...].dropFirst().hasPrefix(" ")
        else { throw .ambiguous }
        guard !Self.reserved.contains(name.lowercased()) else { throw .reserved }
    }

    private static let reserved: Set = [
        "connection", "content-length", "expect", "host", "if-match", "if-modified-since",
        "if-none-match", "if-range", "if-unmodified-since", "keep-alive", "proxy-authorization",
        "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    private static func split(_ text: String) -> (host: Substring?, field: Substring) {
        let start = text.hasPrefix("[") ? text.firstIndex(of: "]") : text.startIndex
        guard let start, let colon = text[start...].firstIndex(of: ":") else {
            return (nil, text[...])
        }
        let head = text[..<colon]
        let rest = text[text.index(after: colon)...]
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        let behindPort = rest[digits.endIndex...]
        let isPort = behindPort.hasPrefix(": ") || (isHost(head) && behindPort.hasPrefix(":"))
        if isPort, !digits.isEmpty { return (text[..<digits.endIndex], behindPort.dropFirst()) }
        return isHost(head) ? (head, rest) : (nil, text[...])
    }

    private static func isHost(_ text: Substring) -> Bool {
        text.contains(".") || text.hasPrefix("[") || text.lowercased() == "localhost"
    }
}

/// The version, for `--version` and the User-Agent field.
public enum LarderVersion {
    /// The current version, as in CHANGELOG.md.
    public static let current = "0.2.0"
    /// The default User-Agent field.
    public static let userAgent = "larder/\(current)"
}
