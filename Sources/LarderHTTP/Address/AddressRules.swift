/// Another host and port to connect to in place of a URL's, in curl's `--connect-to` syntax:
/// `HOST1:PORT1:HOST2:PORT2`, where an empty first pair means any and an empty second one the same.
///
/// TLS and the `Host` field still use the URL's host. The ``AddressPolicy`` applies to HOST2.
public struct ConnectToRule: Hashable, Sendable {
    /// curl's spelling.
    let text: String

    /// `nil` if the text is not a rule.
    public init?(_ text: String) {
        var rest = text[...]
        var parts: [Substring] = []
        while parts.count < 4 {
            let isIPv6 = rest.hasPrefix("[")
            let start = isIPv6 ? rest.firstIndex(of: "]") : rest.startIndex
            guard let start else { return nil }
            let end = rest[start...].firstIndex(of: ":") ?? rest.endIndex
            parts.append(rest[..<end])
            guard end < rest.endIndex else { break }
            rest = rest[rest.index(after: end)...]
            if parts.count == 4 { return nil }
        }
        guard parts.count == 4, Self.isHost(parts[0]), Self.isHost(parts[2]),
            Self.isPort(parts[1]), Self.isPort(parts[3])
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

/// Addresses for a host and port in place of a look-up, in curl's `--resolve` syntax:
/// `HOST:PORT:ADDRESS[,ADDRESS]…`, where the host `*` means any. The ``AddressPolicy`` applies.
public struct ResolveRule: Hashable, Sendable {
    /// curl's spelling.
    let text: String

    /// `nil` if the text is not a rule.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let port = UInt16(parts[1]), port > 0,
            // Spelled as URLs are, which is how libcurl looks it up.
            let host = parts[0] == "*" ? "*" : HostPattern(String(parts[0]))?.host
        else { return nil }
        let addresses = parts[2].split(separator: ",", omittingEmptySubsequences: false)
        guard addresses.allSatisfy({ IPAddress(literal: $0) != nil }) else { return nil }
        self.text = "\(host):\(port):\(parts[2])"
    }
}
