import Foundation
import LarderCore
import LarderHTTP

/// The header fields of requests, without validators and ranges. Both plan and request use them,
/// since they select the variant of a response (RFC 9111, section 4.1).
public struct RequestHeaders: Sendable {
    private let rules: [HeaderRule]
    private let defaults: [(name: String, value: String)]
    private let usesNetrc: Bool

    /// - Parameters:
    ///   - rules: Fields that the user wants sent. Default: none.
    ///   - accept: The `Accept` field. Default: images before all else.
    ///   - userAgent: The `User-Agent` field. None is sent if it is empty. Default: larder's name
    ///     and version.
    ///   - usesNetrc: Whether there may be credentials that are not seen here. Default: false.
    public init(
        rules: [HeaderRule] = [], accept: String = "image/*,*/*;q=0.8",
        userAgent: String = LarderVersion.userAgent, usesNetrc: Bool = false
    ) {
        self.usesNetrc = usesNetrc
        self.rules = rules
        var defaults = [(name: "Accept", value: accept)]
        if !userAgent.isEmpty { defaults.append((name: "User-Agent", value: userAgent)) }
        self.defaults = defaults
    }

    /// Returns the fields for a URL. A rule replaces a default of the same name, and a rule for the
    /// host replaces a general one.
    func sent(to url: HTTPURL, isRedirected: Bool) -> [(name: String, value: String)] {
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

    /// Whether a request may be personal: with credentials, or fields that may be secret.
    func arePersonal(for url: String, hasCredentials: Bool) -> Bool {
        if hasCredentials || usesNetrc { return true }
        // The defaults are not.
        guard !rules.isEmpty, let url = try? HTTPURL(url) else { return false }
        return sent(to: url, isRedirected: false).contains { name, _ in
            !Self.impersonal.contains(name.lowercased())
        }
    }

    private static let impersonal: Set = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "user-agent", "referer",
        "origin", "cache-control", "pragma", "dnt",
    ]

    /// Returns the fields that select a variant of a response. A random value replaces a secret,
    /// since even a short one's digest could be guessed: its variants are revalidated each time.
    func selecting(
        for url: HTTPURL, isRedirected: Bool, hasCredentials: Bool
    ) -> [(name: String, value: String)] {
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

/// A header field chosen by the user, and its hosts.
///
/// `Name: value` is sent to the origins in manifests, and not to redirected ones, since it may be a
/// credential. `example.com: Name: value` is sent to that host only, which may have a port:
/// `example.com:8080: Name: value`.
public struct HeaderRule: Sendable, Equatable {
    /// Why a text is not a rule. It says nothing of the text, which may hold a secret.
    public enum ParseError: Error, Sendable, CaseIterable {
        /// No colon, or nothing before it.
        case noName
        /// What should be the host is not one.
        case badHost
        /// What should be the name is not a token, or the value has control characters in it.
        case notSendable
        /// The value begins like a field of its own: what is before it may be meant for a host.
        case ambiguous
        /// A field that only larder itself can set: of framing, the connection or conditions.
        case reserved
    }

    /// The field's name.
    public let name: String
    /// Its value, without the blanks around it.
    public let value: String
    /// The only host it goes to; `nil`: those that manifests name.
    public let host: HostPattern?

    /// Parses a rule. What is before the first colon is a host if it has a dot, is in brackets, is
    /// `localhost`, or is followed by a port and `: `.
    public init(_ text: String) throws(ParseError) {
        let (hostText, field) = Self.split(text)
        host = hostText.flatMap { HostPattern(String($0)) }
        if hostText != nil, host == nil { throw .badHost }
        guard let colon = field.firstIndex(of: ":") else { throw .noName }
        name = String(Substring(field[..<colon].utf8.trimmingBlanks))
        value = String(Substring(field[field.index(after: colon)...].utf8.trimmingBlanks))
        guard !name.isEmpty else { throw .noName }
        guard HeaderFields.isSendable(name: name, value: value) else { throw .notSendable }
        // For example `intranet: Authorization: …`, which would send the secret to every host.
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
        if !digits.isEmpty,
            behindPort.hasPrefix(": ") || (isHost(head) && behindPort.hasPrefix(":"))
        {
            return (text[..<digits.endIndex], behindPort.dropFirst())
        }
        return isHost(head) ? (head, rest) : (nil, text[...])
    }

    private static func isHost(_ text: Substring) -> Bool {
        text.contains(".") || text.hasPrefix("[") || text.lowercased() == "localhost"
    }
}

extension HeaderRule.ParseError: CustomStringConvertible {
    /// The reason in words.
    public var description: String {
        switch self {
        case .noName: "expected 'Name: value' or 'host: Name: value'"
        case .badHost: "what is before the first colon looks like a host and is none"
        case .notSendable: "the name is not a token, or the value has control characters"
        case .ambiguous:
            "the value begins with a name and a colon; a host needs a dot, a port or brackets to be"
                + " taken for one, such as 'intranet:443: Name: value'"
        case .reserved: "only larder itself can set that field"
        }
    }
}

/// The version, for `--version` and for servers.
public enum LarderVersion {
    /// The version, as in CHANGELOG.md.
    public static let current = "0.2.0"

    /// Where server operators can read about larder. Reserved (RFC 2606) until there is an address.
    public static let address = "https://larder.example"

    /// The User-Agent field of every request, unless overridden.
    public static let userAgent = "larder/\(current) (+\(address))"
}
