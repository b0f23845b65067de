import Foundation
import LarderCore

/// The addresses that Larder may connect to. Each is checked between lookup and connection, so no
/// name, notation or second lookup bypasses the check. URLs are also checked, because a proxy hides
/// addresses.
public struct AddressPolicy: Sendable {
    /// Allows public internet addresses only, so that manifests cannot reach the local network.
    public static let publicOnly = AddressPolicy(allowsAll: false, hosts: [])
    /// Allows every address.
    public static let allowAll = AddressPolicy(allowsAll: true, hosts: [])

    private let allowsAll: Bool
    private let hosts: [HostPattern]

    /// Allows public internet addresses and all addresses of `hosts`.
    public static func publicOnly(and hosts: [HostPattern]) -> AddressPolicy {
        AddressPolicy(allowsAll: false, hosts: hosts)
    }

    package func allowsAnyAddress(of url: HTTPURL) -> Bool {
        allowsAll || hosts.contains { $0.matches(url) }
    }

    /// Returns the reason to refuse a URL with a literal address or `localhost` (RFC 6761), or nil.
    package func refusal(of url: HTTPURL) -> String? {
        guard !allowsAnyAddress(of: url) else { return nil }
        let host = url.host.withoutFinalDot
        if host == "localhost" || host.hasSuffix(".localhost") {
            return "\(host) is a loopback address"
        }
        return IPAddress(literal: host[...])?.refusal
    }

    /// Returns the reason to refuse an address, or nil. Ignores the allowed hosts.
    package func refusal(of address: UnsafePointer<sockaddr>, length: Int) -> String? {
        if allowsAll { return nil }
        return IPAddress(address, length: length).map(\.refusal)
            ?? "the address is neither IPv4 nor IPv6"
    }

    static func advised(_ refusal: String, _ url: HTTPURL) -> String {
        "\(refusal); permit it with --allow-private-network or --allow-host \(url.host)"
    }
}

/// A host and an optional port, such as `example.com`, `example.com:8080` or `[::1]`.
public struct HostPattern: Hashable, Sendable {
    /// The host as in ``HTTPURL/host``, without a final dot.
    package let host: String
    package let port: Int?

    /// Parses a pattern. Returns nil if it is invalid.
    public init?(_ text: String) {
        let isBareIPv6 = text.count { $0 == ":" } > 1 && !text.hasPrefix("[")
        guard !text.contains(where: { "/?#@\\ \t\r\n".contains($0) }),
            let authority = try? URLAuthority((isBareIPv6 ? "[\(text)]" : text).utf8),
            // A colon without a port is an error, unlike in a URL.
            isBareIPv6 || authority.port != nil || text.last != ":"
        else { return nil }
        (host, port) = (authority.host.withoutFinalDot, authority.port)
    }

    package func matches(_ url: HTTPURL) -> Bool {
        (port == nil || port == url.port) && host == url.host.withoutFinalDot
    }
}

/// A host and port to connect to instead of the URL's, as in curl's `--connect-to`:
/// `HOST1:PORT1:HOST2:PORT2`. An empty HOST1 or PORT1 matches any. An empty HOST2 or PORT2 keeps
/// the URL's. TLS and the `Host` field use the URL's host. The ``AddressPolicy`` applies to HOST2.
public struct ConnectToRule: Hashable, Sendable {
    let text: String

    /// Parses a rule. Returns nil if it is invalid.
    public init?(_ text: String) {
        let rule = /(\[[^\]]*\]|[^:]*):([^:]*):(\[[^\]]*\]|[^:]*):([^:]*)/
        guard let parts = text.wholeMatch(of: rule)?.output,
            [parts.1, parts.3].allSatisfy({ host in
                host.isEmpty || HostPattern(String(host)).map { $0.port == nil } ?? false
            }),
            [parts.2, parts.4].allSatisfy({ port in
                port.isEmpty || UInt16(port).map { $0 > 0 } ?? false
            })
        else { return nil }
        self.text = text
    }
}

/// The addresses of a host and port, used instead of a lookup, as in curl's `--resolve`:
/// `HOST:PORT:ADDRESS[,ADDRESS]…`. `*` matches any host. The ``AddressPolicy`` still applies.
public struct ResolveRule: Hashable, Sendable {
    let text: String

    /// Parses a rule. Returns nil if it is invalid.
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
