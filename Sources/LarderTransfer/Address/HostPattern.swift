import LarderURL

/// A host, and perhaps a port, as a person names it: `example.com`, `example.com:8080`, `[::1]`.
public struct HostPattern: Hashable, Sendable {
    /// The host as ``HTTPURL/host`` spells it, without a dot at its end.
    package let host: String
    /// The only port that is meant; `nil`: every port.
    package let port: Int?

    /// `nil` if the text is not a host, or has more to it than a host and a port.
    public init?(_ text: String) {
        let colons = text.count { $0 == ":" }
        let isBareIPv6 = colons > 1 && !text.hasPrefix("[")
        guard !text.contains(where: { "/?#@\\ \t\r\n".contains($0) }),
            let authority = try? URLAuthority((isBareIPv6 ? "[\(text)]" : text).utf8)
        else { return nil }
        // A colon without a port is not ignored, as in a URL.
        guard isBareIPv6 || authority.port != nil || text.last != ":" else { return nil }
        host = authority.host.withoutFinalDot
        port = authority.port
    }

    /// Whether it names the URL's host, and its port if it has one.
    public func matches(_ url: HTTPURL) -> Bool {
        (port == nil || port == url.port) && host == url.hostWithoutDot
    }
}

extension HTTPURL {
    /// The host without the dot that makes a name absolute.
    var hostWithoutDot: String { host.withoutFinalDot }
}
