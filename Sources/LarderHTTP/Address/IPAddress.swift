import Foundation

enum IPAddress: Hashable, CustomStringConvertible {
    case v4(UInt32)
    case v6(UInt128)

    /// `nil` for another family or a truncated address.
    init?(_ address: UnsafePointer<sockaddr>, length: Int) {
        let bytes = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            self = .v4(
                UInt32(bigEndian: bytes.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            let ip = bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            let number = withUnsafeBytes(of: ip) { $0.loadUnaligned(as: UInt128.self) }
            self = .v6(UInt128(bigEndian: number))
        default: return nil
        }
    }

    /// An address in any notation that the system accepts (also `inet_aton`'s short, octal and
    /// hexadecimal ones), with or without brackets and zone; `nil` for a name. Does not use a
    /// resolver.
    init?(literal text: Substring) {
        var text = text
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        // Every notation begins with a digit or has colons. Most hosts are names.
        guard text.first?.isNumber == true || text.contains(":") else { return nil }
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(String(text.prefix { $0 != "%" }), nil, &hints, &found) == 0 else {
            return nil
        }
        defer { freeaddrinfo(found) }
        guard let information = found?.pointee, let address = information.ai_addr else {
            return nil
        }
        self.init(address, length: Int(information.ai_addrlen))
    }

    /// Whether the first `length` bits are those of `network`, which is of the same version.
    func isWithin(_ network: IPAddress, prefixLength length: Int) -> Bool {
        switch (self, network) {
        case (.v4(let address), .v4(let network)):
            (0...32).contains(length) && (address ^ network) >> (32 - length) == 0
        case (.v6(let address), .v6(let network)):
            (0...128).contains(length) && (address ^ network) >> (128 - length) == 0
        default: false
        }
    }

    /// `nil` if it is public.
    var specialKind: String? {
        switch self {
        case .v4(let address): SpecialAddresses.kind(ofIPv4: address)
        case .v6(let address): SpecialAddresses.kind(ofIPv6: address)
        }
    }

    var description: String {
        func text(_ family: Int32, _ address: UnsafeRawPointer) -> String {
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) {
                inet_ntop(family, address, $0.baseAddress, socklen_t($0.count))
                    .map { String(cString: $0) } ?? "the address"
            }
        }
        switch self {
        case .v4(let address):
            var bytes = address.bigEndian
            return text(AF_INET, &bytes)
        case .v6(let address):
            var bytes = address.bigEndian
            return text(AF_INET6, &bytes)
        }
    }
}

/// The addresses that are not hosts of the public internet.
///
/// Source: IANA's IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and its updates), and
/// the address space registries for what is reserved altogether.
enum SpecialAddresses {
    /// Returns for example `a loopback address`, or `nil` if the address is public.
    static func kind(ofIPv4 address: UInt32) -> String? {
        ipv4.first { address >> (32 - $0.length) == $0.prefix >> (32 - $0.length) }?.kind
    }

    /// An address that stands for an IPv4 address has that address's kind.
    static func kind(ofIPv6 address: UInt128) -> String? {
        func isWithin(_ prefix: UInt128, _ length: Int) -> Bool {
            address >> (128 - length) == prefix >> (128 - length)
        }
        func kind(ofEmbedded number: UInt128, _ translation: String) -> String? {
            let number = UInt32(truncatingIfNeeded: number)
            return self.kind(ofIPv4: number).map { "\($0) (\(translation))" }
        }
        if isWithin(at(0x0064_ff9b, 0), 96) { return kind(ofEmbedded: address, "by NAT64") }
        if isWithin(at(0x2002_0000, 0), 16) { return kind(ofEmbedded: address >> 80, "by 6to4") }
        if isWithin(at(0x2001_0000, 0), 32) {
            // The server's address, and the client's with its bits inverted (RFC 4380, section 4).
            return kind(ofEmbedded: address >> 64, "by Teredo")
                ?? kind(ofEmbedded: ~address, "by Teredo")
        }
        if address > 1, isWithin(0, 96) || isWithin(0xffff << 32, 96) || isWithin(0xffff << 48, 96)
        {
            return kind(ofEmbedded: address, "in IPv6")
        }
        return ipv6.first { isWithin($0.prefix, $0.length) }?.kind
            // No other addresses are assigned (RFC 4291, section 2.4).
            ?? (isWithin(at(0x2000_0000, 0), 3) ? nil : "a reserved address")
    }

    private static let ipv4: [(prefix: UInt32, length: Int, kind: String)] = [
        (0x0000_0000, 8, "an unspecified address"),  // 0.0.0.0/8
        (0x0a00_0000, 8, "a private address"),  // 10.0.0.0/8
        // 100.64.0.0/10, Alibaba Cloud's metadata at 100.100.100.200 among it
        (0x6440_0000, 10, "a carrier-grade NAT address"),
        (0x7f00_0000, 8, "a loopback address"),  // 127.0.0.0/8
        (0xa9fe_0000, 16, "a link-local address"),  // 169.254.0.0/16, cloud metadata among it
        // 168.63.129.16, public by its number, and within Azure the host's own wire server
        // (https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16)
        (0xa83f_8110, 32, "a cloud platform's address"),
        (0xac10_0000, 12, "a private address"),  // 172.16.0.0/12
        (0xc000_0000, 24, "a protocol assignment's address"),  // 192.0.0.0/24
        (0xc000_0200, 24, "a documentation address"),  // 192.0.2.0/24
        (0xc058_6300, 24, "a reserved address"),  // 192.88.99.0/24, once 6to4 relays
        (0xc0a8_0000, 16, "a private address"),  // 192.168.0.0/16
        (0xc612_0000, 15, "a benchmarking address"),  // 198.18.0.0/15
        (0xc633_6400, 24, "a documentation address"),  // 198.51.100.0/24
        (0xcb00_7100, 24, "a documentation address"),  // 203.0.113.0/24
        (0xe000_0000, 4, "a multicast address"),  // 224.0.0.0/4
        (0xffff_ffff, 32, "a broadcast address"),  // 255.255.255.255
        (0xf000_0000, 4, "a reserved address"),  // 240.0.0.0/4
    ]

    private static let ipv6: [(prefix: UInt128, length: Int, kind: String)] = [
        (0, 128, "an unspecified address"),  // ::
        (1, 128, "a loopback address"),  // ::1
        (at(0x0064_ff9b, 0x0001_0000), 48, "a local NAT64 address"),  // 64:ff9b:1::/48
        (at(0x0100_0000, 0), 64, "a discard-only address"),  // 100::/64
        (at(0x2001_0db8, 0), 32, "a documentation address"),  // 2001:db8::/32
        (at(0x2001_0000, 0), 23, "a protocol assignment's address"),  // 2001::/23
        (at(0x3fff_0000, 0), 20, "a documentation address"),  // 3fff::/20
        (at(0x5f00_0000, 0), 16, "a segment routing address"),  // 5f00::/16
        // fc00::/7, Amazon's metadata at fd00:ec2::254 among it
        (at(0xfc00_0000, 0), 7, "a private address"),
        (at(0xfe80_0000, 0), 10, "a link-local address"),  // fe80::/10
        (at(0xfec0_0000, 0), 10, "a private address"),  // fec0::/10, once site-local
        (at(0xff00_0000, 0), 8, "a multicast address"),  // ff00::/8
    ]

    /// The address whose first and second 32 bits are these, the rest zero.
    private static func at(_ first: UInt128, _ second: UInt128) -> UInt128 {
        first << 96 | second << 64
    }
}
