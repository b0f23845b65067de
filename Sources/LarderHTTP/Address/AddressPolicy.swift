import Foundation
import LarderCore

/// The addresses that Larder may connect to.
///
/// Each address is checked between its lookup and the connection, so a name, an unusual notation or
/// a second lookup cannot bypass the check. URLs are checked, too, because a proxy hides the
/// servers' addresses.
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

    /// Whether every address of the URL's host is allowed.
    public func allowsAnyAddress(of url: HTTPURL) -> Bool {
        allowsAll || hosts.contains { $0.matches(url) }
    }

    /// Returns the reason to refuse a URL before its host is looked up, or nil. Checks literal
    /// addresses and `localhost` (RFC 6761, section 6.3).
    public func refusal(of url: HTTPURL) -> String? {
        guard !allowsAnyAddress(of: url) else { return nil }
        let host = url.host.withoutFinalDot
        if host == "localhost" || host.hasSuffix(".localhost") {
            return "\(host) is a loopback address"
        }
        return IPAddress(literal: host[...]).flatMap(Self.refusal)
    }

    /// Returns the reason to refuse an address, or nil. Ignores the allowed hosts.
    public func refusal(of address: UnsafePointer<sockaddr>, length: Int) -> String? {
        guard !allowsAll else { return nil }
        guard let address = IPAddress(address, length: length) else {
            return "the address is neither IPv4 nor IPv6"
        }
        return Self.refusal(of: address)
    }

    private static func refusal(of address: IPAddress) -> String? {
        address.specialKind.map { "\(address) is \($0)" }
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

    /// Parses a pattern, or returns nil.
    public init?(_ text: String) {
        let colons = text.count { $0 == ":" }
        let isBareIPv6 = colons > 1 && !text.hasPrefix("[")
        guard !text.contains(where: { "/?#@\\ \t\r\n".contains($0) }),
            let authority = try? URLAuthority((isBareIPv6 ? "[\(text)]" : text).utf8)
        else { return nil }
        // A colon without a port is an error, unlike in a URL.
        guard isBareIPv6 || authority.port != nil || text.last != ":" else { return nil }
        host = authority.host.withoutFinalDot
        port = authority.port
    }

    /// Whether the URL has this host, and this port if any.
    public func matches(_ url: HTTPURL) -> Bool {
        (port == nil || port == url.port) && host == url.host.withoutFinalDot
    }
}
