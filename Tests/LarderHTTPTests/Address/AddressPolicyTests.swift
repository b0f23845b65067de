import LarderHTTP
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite struct AddressPolicyTests {
    /// The first and last address of every special block, and the kind of the block.
    @Test(arguments: [
        ("0.0.0.0", "0.255.255.255", "unspecified"),
        ("10.0.0.0", "10.255.255.255", "private"),
        ("100.64.0.0", "100.127.255.255", "carrier-grade NAT"),
        ("127.0.0.0", "127.255.255.255", "loopback"),
        ("169.254.0.0", "169.254.255.255", "link-local"),
        ("169.254.169.254", "169.254.169.254", "link-local"),
        ("168.63.129.16", "168.63.129.16", "cloud platform"),
        ("172.16.0.0", "172.31.255.255", "private"),
        ("192.0.0.0", "192.0.0.255", "protocol assignment"),
        ("192.0.2.0", "192.0.2.255", "documentation"),
        ("192.88.99.0", "192.88.99.255", "reserved"),
        ("192.168.0.0", "192.168.255.255", "private"),
        ("198.18.0.0", "198.19.255.255", "benchmarking"),
        ("198.51.100.0", "198.51.100.255", "documentation"),
        ("203.0.113.0", "203.0.113.255", "documentation"),
        ("224.0.0.0", "239.255.255.255", "multicast"),
        ("240.0.0.0", "255.255.255.254", "reserved"),
        ("255.255.255.255", "255.255.255.255", "broadcast"),
        ("::", "::", "unspecified"),
        ("::1", "::1", "loopback"),
        // IPv4 in IPv6: mapped, compatible, translated.
        ("::ffff:0.0.0.0", "::ffff:0.255.255.255", "unspecified"),
        ("::ffff:127.0.0.1", "::ffff:127.255.255.255", "loopback"),
        ("::ffff:192.168.0.0", "::ffff:192.168.255.255", "private"),
        ("::127.0.0.1", "::10.0.0.1", "address (in IPv6)"),
        ("::ffff:0:127.0.0.1", "::ffff:0:127.0.0.1", "loopback"),
        // NAT64, 6to4, Teredo (server; client inverted).
        ("64:ff9b::10.0.0.0", "64:ff9b::10.255.255.255", "private address (by NAT64)"),
        ("64:ff9b::169.254.169.254", "64:ff9b::169.254.169.254", "link-local"),
        ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "local NAT64"),
        ("2002:7f00::", "2002:7fff:ffff:ffff::1", "loopback address (by 6to4)"),
        ("2002:c0a8::", "2002:c0a8:ffff:ffff:ffff:ffff:ffff:ffff", "private"),
        ("2001:0:0a00::f7f7:f7f7", "2001:0:0aff:ffff::f7f7:f7f7", "private address (by Teredo)"),
        ("2001:0:808:808::80ff:fffe", "2001:0:808:808::80ff:fffe", "loopback"),
        ("100::", "100::ffff:ffff:ffff:ffff", "discard"),
        ("2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "protocol assignment"),
        ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
        ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
        ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "segment routing"),
        ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "private"),
        ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "link-local"),
        ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "private"),
        ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast"),
        // All addresses outside 2000::/3 are reserved.
        ("::1:0:0:0", "::1:0:0:0", "reserved"),
        ("64:ff9a:ffff::", "64:ff9b:0:0:0:1::", "reserved"),
        ("64:ff9b:2::", "ff:ffff::", "reserved"),
        ("100:0:0:1::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved"),
        ("4000::", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved"),
        ("5f01::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved"),
        ("fe00::", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved"),
    ])
    func specialAddressesAreRefused(_ first: String, _ last: String, _ kind: String) throws {
        for address in [first, last] {
            let refusal = try refusal(of: address)
            #expect(refusal?.contains(kind) == true, "\(address): \(refusal ?? "allowed")")
            #expect(try self.refusal(of: address, policy: .allowAll) == nil)
        }
    }

    /// Addresses next to those blocks, and public addresses embedded in IPv6.
    @Test(arguments: [
        "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
        "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
        "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.1.255", "192.0.3.0",
        "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
        "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0",
        "223.255.255.255", "8.8.8.8",
        "::ffff:1.0.0.0", "::ffff:8.8.8.8", "::ffff:223.255.255.255", "64:ff9b::8.8.8.8",
        "2002:808:808::", "2001:0:808:808::f7f7:f7f7",
        "2000::", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::",
        "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::",
        "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::", "2606:4700::1111",
        "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::",
        "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    ])
    func publicAddressesAreAllowed(_ address: String) throws {
        #expect(try refusal(of: address) == nil)
    }

    @Test func aRefusalHasTheAddressAndItsKind() throws {
        #expect(try refusal(of: "127.0.0.1") == "127.0.0.1 is a loopback address")
        #expect(try refusal(of: "fe80::1") == "fe80::1 is a link-local address")
    }

    @Test func invalidSocketAddressesAreRefused() {
        var address = sockaddr()
        address.sa_family = sa_family_t(AF_UNIX)
        #expect(AddressPolicy.publicOnly.refusal(of: &address, length: 16) != nil)
        // The length is too short for this address family.
        address.sa_family = sa_family_t(AF_INET6)
        #expect(AddressPolicy.publicOnly.refusal(of: &address, length: 16) != nil)
    }

    private func refusal(
        of text: String, policy: AddressPolicy = .publicOnly
    ) throws -> String? {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        var found: UnsafeMutablePointer<addrinfo>?
        try #require(getaddrinfo(text, nil, &hints, &found) == 0, "\(text) is not an address")
        defer { freeaddrinfo(found) }
        let info = try #require(found?.pointee)
        let address = try #require(info.ai_addr)
        return policy.refusal(of: address, length: Int(info.ai_addrlen))
    }
}
