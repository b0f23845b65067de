import Foundation
import LarderCore

/// The addresses that may be connected to.
///
/// Checked for each address between the name look-up and the connection, so that no name, notation
/// or second look-up avoids it, and for each URL first, because no address is visible behind a
/// proxy.
public struct AddressPolicy: Sendable {
    /// Addresses of the public internet only: a manifest from elsewhere cannot make this machine
    /// fetch from its own network.
    public static let publicOnly = AddressPolicy(allowsAll: false, hosts: [])
    /// Every address.
    public static let allowAll = AddressPolicy(allowsAll: true, hosts: [])

    private let allowsAll: Bool
    private let hosts: [HostPattern]

    /// Addresses of the public internet, and all addresses of these hosts, as URLs name them.
    public static func publicOnly(and hosts: [HostPattern]) -> AddressPolicy {
        AddressPolicy(allowsAll: false, hosts: hosts)
    }

    /// Whether every address of the URL's host may be connected to.
    public func allowsAnyAddress(of url: HTTPURL) -> Bool {
        allowsAll || hosts.contains { $0.matches(url) }
    }

    /// Returns why a URL is refused without a look-up (its host is a refused literal address, or
    /// `localhost`; RFC 6761, section 6.3), or `nil`.
    public func refusal(of url: HTTPURL) -> String? {
        guard !allowsAnyAddress(of: url) else { return nil }
        let host = url.host.withoutFinalDot
        if host == "localhost" || host.hasSuffix(".localhost") {
            return "\(host) is a loopback address"
        }
        return IPAddress(literal: host[...]).flatMap(Self.refusal)
    }

    /// Returns why an address of a host that is not named is refused, or `nil`.
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
        "\(refusal); --allow-private-network or --allow-host \(url.host) permits it"
    }
}

/// A host and an optional port: `example.com`, `example.com:8080`, `[::1]`.
public struct HostPattern: Hashable, Sendable {
    /// The host as ``HTTPURL/host`` spells it, without a dot at its end.
    package let host: String
    /// `nil` means every port.
    package let port: Int?

    /// Parses the text. Returns `nil` if it is not a host and an optional port.
    public init?(_ text: String) {
        let colons = text.count { $0 == ":" }
        let isBareIPv6 = colons > 1 && !text.hasPrefix("[")
        guard !text.contains(where: { "/?#@\\ \t\r\n".contains($0) }),
            let authority = try? URLAuthority((isBareIPv6 ? "[\(text)]" : text).utf8)
        else { return nil }
        // Unlike in a URL, a colon without a port is an error.
        guard isBareIPv6 || authority.port != nil || text.last != ":" else { return nil }
        host = authority.host.withoutFinalDot
        port = authority.port
    }

    /// Whether the URL has this host and, if one is named, this port.
    public func matches(_ url: HTTPURL) -> Bool {
        (port == nil || port == url.port) && host == url.host.withoutFinalDot
    }
}
