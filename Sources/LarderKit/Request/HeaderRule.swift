import LarderCache
import LarderTransfer

/// A header field that a person wants sent, and to whom.
///
/// `Name: value` goes to the origins that manifests name, and to no other that they redirect to,
/// since it may be a credential. `example.com: Name: value` goes to that host alone, wherever a
/// request for it comes from; it may have a port, `example.com:8080: Name: value`.
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
        /// A field that only larder itself can set: it says how the message or the connection is
        /// framed, or what the cache has.
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
        if let hostText {
            guard let host = HostPattern(String(hostText)) else { throw .badHost }
            self.host = host
        } else {
            host = nil
        }
        guard let colon = field.firstIndex(of: ":") else { throw .noName }
        name = String(Substring(field[..<colon].utf8.trimmingBlanks))
        value = String(Substring(field[field.index(after: colon)...].utf8.trimmingBlanks))
        guard !name.isEmpty else { throw .noName }
        guard HeaderFields.isSendable(name: name, value: value) else { throw .notSendable }
        // `intranet: Authorization: …`: the secret would go to everybody.
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

    /// The host with its port, if the text begins with one, and the rest.
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
