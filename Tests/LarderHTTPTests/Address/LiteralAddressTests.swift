import LarderCore
import LarderHTTP
import Testing

/// Hosts that are refused because of their spelling, without a name lookup or a connection.
@Suite struct LiteralAddressTests {
    init() { CurlHosts.install() }

    /// Notations of addresses in URLs, and the kinds of the addresses.
    static let refused = [
        ("127.0.0.1", "loopback"), ("127.1", "loopback"), ("127.0.1", "loopback"),
        ("2130706433", "loopback"), ("0x7f000001", "loopback"), ("017700000001", "loopback"),
        ("0x7f.1", "loopback"), ("0177.0.0.1", "loopback"), ("127.0.0.1.", "loopback"),
        ("１２７。0。0。1", "loopback"), ("127.000.000.001", "loopback"),
        ("localhost", "loopback"), ("LOCALHOST", "loopback"), ("localhost.", "loopback"),
        ("a.localhost", "loopback"), ("a.b.localhost.", "loopback"), ("loc%61lhost", "loopback"),
        ("[::1]", "loopback"), ("[0:0:0:0:0:0:0:1]", "loopback"),
        ("[::ffff:127.0.0.1]", "loopback"), ("[::ffff:7f00:1]", "loopback"),
        ("[::127.0.0.1]", "loopback"), ("[64:ff9b::7f00:1]", "loopback"),
        ("[2002:7f00:1::]", "loopback"), ("[2001:0:808:808::80ff:fffe]", "loopback"),
        ("[fe80::1]", "link-local"),
        ("0", "unspecified"), ("0.0.0.0", "unspecified"), ("[::]", "unspecified"),
        ("10.1", "private"), ("192.168.1.1", "private"), ("172.16.5.4", "private"),
        ("[::ffff:a00:1]", "private"), ("[fd12::1]", "private"), ("[fec0::1]", "private"),
        ("100.64.0.1", "carrier-grade NAT"), ("224.0.0.1", "multicast"), ("[ff02::1]", "multicast"),
        // The metadata services of Amazon and most others, Amazon over IPv6, Alibaba and Azure.
        ("169.254.169.254", "link-local"), ("2852039166", "link-local"),
        ("[fd00:ec2::254]", "private"), ("100.100.100.200", "carrier-grade NAT"),
        ("168.63.129.16", "cloud platform"), ("[::ffff:168.63.129.16]", "cloud platform"),
    ]

    @Test(arguments: refused) func literalSpecialAddressesAreRefused(
        _ host: String, _ kind: String
    ) throws {
        for url in ["http://\(host)/", "https://me:pw@\(host):8080/a?b"] {
            let url = try HTTPURL(url)
            let refusal = AddressPolicy.publicOnly.refusal(of: url)
            #expect(refusal?.contains(kind) == true, "\(url): \(refusal ?? "allowed")")
            #expect(AddressPolicy.allowAll.refusal(of: url) == nil)
        }
    }

    /// The URL standard does not allow zone identifiers.
    @Test(arguments: ["[::1%25lo]", "[fe80::1%25eth0]", "[fe80::1%eth0]"])
    func aURLWithAZoneIdentifierIsInvalid(_ host: String) {
        #expect(throws: HTTPURL.ParseError.self) { try HTTPURL("http://\(host)/") }
    }

    @Test(arguments: [
        "8.8.8.8", "134744072", "[2606:4700::1111]", "[::ffff:8.8.8.8]", "example.com",
        "localhost.example.com", "notlocalhost", "127.0.0.1.example.com", "10", "dead.beef",
        "168.63.129.15", "168.63.129.17",
    ])
    func otherHostsAreNotRefusedByTheirSpelling(_ host: String) throws {
        let refusal = AddressPolicy.publicOnly.refusal(of: try HTTPURL("http://\(host)/"))
        // `10` is the address 0.0.0.10.
        #expect((refusal == nil) == (host != "10"), "\(refusal ?? "")")
    }

    @Test(arguments: [
        ("127.0.0.1", "http://127.0.0.1:8080/", true), ("127.1", "http://2130706433/", true),
        ("::1", "http://[::1]:8080/", true), ("[::1]:80", "http://[::1]/", true),
        ("[::1]:80", "https://[::1]/", false), ("localhost", "https://LOCALHOST./", true),
        ("localhost.:8080", "http://localhost:8080/", true),
        ("localhost:8080", "http://localhost/", false),
        ("localhost", "http://a.localhost/", false), ("127.0.0.1", "http://localhost/", false),
        ("127.0.0.1", "http://127.0.0.2/", false),
    ])
    func anAllowedHostIsExemptInEverySpelling(
        _ named: String, _ url: String, _ isOpen: Bool
    ) throws {
        let policy = AddressPolicy.publicOnly(and: [try #require(HostPattern(named))])
        let url = try HTTPURL(url)
        #expect((policy.refusal(of: url) == nil) == isOpen)
        #expect(policy.allowsAnyAddress(of: url) == isOpen)
    }

    @Test(arguments: [
        "", " ", "a b", "a/b", "http://a", "me@a", "a:", "a:x", "a:99999", "[::1", "[::1]x",
        "[::1]:",
        "a?b", "a#b", ":80", "a:80:90",
    ])
    func invalidHostPatternsAreRefused(_ text: String) {
        #expect(HostPattern(text) == nil)
    }
}
