/// A host and port to connect to instead of the URL's, as in curl's `--connect-to`:
/// `HOST1:PORT1:HOST2:PORT2`. An empty HOST1 or PORT1 matches any host or port. An empty HOST2 or
/// PORT2 keeps the URL's.
///
/// TLS and the `Host` field use the URL's host. The ``AddressPolicy`` applies to HOST2.
public struct ConnectToRule: Hashable, Sendable {
    let text: String

    /// Parses a rule, or returns nil.
    public init?(_ text: String) {
        let rule = /(\[[^\]]*\]|[^:]*):([^:]*):(\[[^\]]*\]|[^:]*):([^:]*)/
        guard let parts = text.wholeMatch(of: rule)?.output, Self.isHost(parts.1),
            Self.isPort(parts.2), Self.isHost(parts.3), Self.isPort(parts.4)
        else { return nil }
        self.text = text
    }

    private static func isHost(_ text: Substring) -> Bool {
        text.isEmpty || HostPattern(String(text)).map { $0.port == nil } ?? false
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty || UInt16(text).map { $0 > 0 } ?? false
    }
}

/// The addresses of a host and port, used instead of a lookup, as in curl's `--resolve`:
/// `HOST:PORT:ADDRESS[,ADDRESS]…`. The host `*` matches any host. The ``AddressPolicy`` applies to
/// the addresses.
public struct ResolveRule: Hashable, Sendable {
    let text: String

    /// Parses a rule, or returns nil.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let port = UInt16(parts[1]), port > 0,
            // libcurl compares the host with the canonical spelling in the URL.
            let host = parts[0] == "*" ? "*" : HostPattern(String(parts[0]))?.host
        else { return nil }
        let addresses = parts[2].split(separator: ",", omittingEmptySubsequences: false)
        guard addresses.allSatisfy({ IPAddress(literal: $0) != nil }) else { return nil }
        self.text = "\(host):\(port):\(parts[2])"
    }
}
