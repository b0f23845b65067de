import Foundation
import LarderCore

/// Which addresses may be connected to.
///
/// Checked for each address between the name look-up and the connection, so that no name, notation
/// or second look-up avoids it, and for each URL first, because no address is visible behind a
/// proxy.
public struct AddressPolicy: Sendable {
    /// Addresses of the public internet only: a manifest from elsewhere cannot make this machine
    /// fetch from its own network.
    public static let publicOnly = AddressPolicy(allowsAll: false)
    /// Every address.
    public static let allowAll = AddressPolicy(allowsAll: true)

    private let allowsAll: Bool
    private let hosts: [HostPattern]

    private init(allowsAll: Bool, hosts: [HostPattern] = []) {
        self.allowsAll = allowsAll
        self.hosts = hosts
    }

    /// Addresses of the public internet, and whatever addresses these hosts have. A host is what a
    /// URL names, never what that resolves to.
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
        let host = url.hostWithoutDot
        if host == "localhost" || host.hasSuffix(".localhost") {
            return "\(host) is a loopback address"
        }
        return IPAddress(literal: host[...]).flatMap(Self.refusal)
    }

    /// Why the address of a host that is not one of those named is refused; `nil` if it is not.
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

    /// Returns a refusal with the options that permit it.
    static func advised(_ refusal: String, _ url: HTTPURL) -> String {
        "\(refusal); --allow-private-network or --allow-host \(url.host) permits it"
    }
}

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
        // Unlike in a URL, a colon without a port is an error.
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
    var hostWithoutDot: String { host.withoutFinalDot }
}
