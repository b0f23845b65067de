import Foundation

struct IPAddress: Sendable, CustomStringConvertible {
    fileprivate let number: UInt128
    fileprivate let width: Int

    fileprivate init(_ number: UInt32) { (self.number, width) = (UInt128(number), 32) }

    init?(_ address: UnsafePointer<sockaddr>, length: Int) {
        let bytes = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            let number = bytes.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr
            self.init(UInt32(bigEndian: number))
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            self.init(bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr)
        default: return nil
        }
    }

    /// Parses an address in any notation of `inet_aton` or `inet_pton`. Returns nil for a name.
    init?(literal text: Substring) {
        var text = text
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        // Rejects most names quickly. `inet_aton` would ignore text after a blank.
        guard text.first?.isNumber == true || text.contains(":"),
            !text.contains(where: \.isWhitespace)
        else { return nil }
        let number = String(text.prefix { $0 != "%" })
        var (v4, v6) = (in_addr(), in6_addr())
        if inet_aton(number, &v4) != 0 {
            self.init(UInt32(bigEndian: v4.s_addr))
        } else if inet_pton(AF_INET6, number, &v6) == 1 {
            self.init(v6)
        } else {
            return nil
        }
    }

    private init(_ address: in6_addr) {
        let number = withUnsafeBytes(of: address) { $0.loadUnaligned(as: UInt128.self) }
        (self.number, width) = (UInt128(bigEndian: number), 128)
    }

    var description: String {
        let family = width == 32 ? AF_INET : AF_INET6
        return withUnsafeBytes(of: (number << (128 - width)).bigEndian) { bytes in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) {
                inet_ntop(family, bytes.baseAddress, $0.baseAddress, socklen_t($0.count))
                    .map { String(cString: $0) } ?? "the address"
            }
        }
    }
}

struct IPNetwork: Sendable {
    private let first: IPAddress
    private let length: Int

    /// Parses an address and an optional prefix length. An invalid length matches no address.
    init?(_ text: Substring) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let first = IPAddress(literal: parts[0]),
            let length = parts.count == 2 ? Int(parts[1]) : first.width
        else { return nil }
        (self.first, self.length) = (first, length)
    }

    func contains(_ address: IPAddress) -> Bool {
        address.width == first.width && 0...first.width ~= length
            && (address.number ^ first.number) >> (first.width - length) == 0
    }
}

/// Source: IANA's Special-Purpose Address Registries (RFC 6890) and address space registries.
extension IPAddress {
    var refusal: String? { specialKind.map { "\(self) is \($0)" } }

    /// The kind of a non-public address, or nil. An embedded IPv4 address determines the kind.
    var specialKind: String? {
        if width == 128, number > 1 {
            let translations = Self.translations.filter { $0.network.contains(self) }
            if !translations.isEmpty {
                return translations.compactMap { translation -> String? in
                    let bits = UInt32(truncatingIfNeeded: number >> translation.shift)
                    let kind = IPAddress(translation.isInverted ? ~bits : bits).specialKind
                    return kind.map { "\($0) (\(translation.name))" }
                }.first
            }
        }
        return Self.special.first { $0.network.contains(self) }?.kind
    }

    private static let translations = [
        ("64:ff9b::/96", 0, false, "by NAT64"),
        ("2002::/16", 80, false, "by 6to4"),
        // The server's address, and the client's with inverted bits (RFC 4380, section 4).
        ("2001::/32", 64, false, "by Teredo"),
        ("2001::/32", 0, true, "by Teredo"),
        ("::/96", 0, false, "in IPv6"),
        ("::ffff:0:0/96", 0, false, "in IPv6"),
        ("::ffff:0:0:0/96", 0, false, "in IPv6"),
    ].map { (network: IPNetwork($0[...])!, shift: $1, isInverted: $2, name: $3) }

    private static let special = kinds.flatMap { kind, networks in
        networks.map { (network: IPNetwork($0[...])!, kind: kind) }
    }

    /// The non-public networks. The first match counts, because reserved networks contain others.
    /// Private, link-local and NAT networks include the metadata services of clouds.
    private static let kinds: KeyValuePairs<String, [String]> = [
        "an unspecified address": ["0.0.0.0/8", "::"],
        "a loopback address": ["127.0.0.0/8", "::1"],
        "a private address": [
            "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10",
        ],
        "a link-local address": ["169.254.0.0/16", "fe80::/10"],
        "a carrier-grade NAT address": ["100.64.0.0/10"],
        // https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
        "a cloud platform's address": ["168.63.129.16"],
        "a protocol assignment address": ["192.0.0.0/24", "2001::/23"],
        "a documentation address": [
            "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20",
        ],
        "a benchmarking address": ["198.18.0.0/15"],
        "a multicast address": ["224.0.0.0/4", "ff00::/8"],
        "a broadcast address": ["255.255.255.255"],
        "a local NAT64 address": ["64:ff9b:1::/48"],
        "a discard-only address": ["100::/64"],
        "a segment routing address": ["5f00::/16"],
        // 192.88.99.0/24 was for 6to4 relays. Only 2000::/3 is public (RFC 4291, section 2.4).
        "a reserved address": ["192.88.99.0/24", "240.0.0.0/4", "::/3", "4000::/2", "8000::/1"],
    ]
}
