import Testing

@testable import LarderServer

@Suite struct OwnNamesTests {
    private let local = OwnNames(
        host: "127.0.0.1", address: "127.0.0.1", port: 8080, publicURL: "https://icons.example/a")

    @Test(arguments: [
        "127.0.0.1:8080", "localhost", "LOCALHOST:8080", "localhost:9", "[::1]:8080", "10.0.0.1",
        "icons.example", "Icons.Example:443",
    ])
    func theServersNamesAreItsOwn(_ authority: String) { #expect(local.isOwn(authority.utf8)) }

    @Test(arguments: [
        "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.nip.example",
        "xlocalhost", "[::1", "1.2.3", "",
    ])
    func namesOfOtherHostsAreForeign(_ authority: String) { #expect(!local.isOwn(authority.utf8)) }

    /// A server on a network does not know its names, so it accepts all. A mirror cannot, because it
    /// also receives requests for other hosts.
    @Test func onANetworkOnlyAMirrorRejectsUnknownNames() {
        func names(isMirror: Bool) -> OwnNames {
            OwnNames(host: "0.0.0.0", address: "0.0.0.0", port: 80, isMirror: isMirror)
        }
        #expect(names(isMirror: false).isOwn("kiosk.local".utf8))
        #expect(!names(isMirror: true).isOwn("kiosk.local".utf8))
        #expect(names(isMirror: true).isOwn("192.168.1.2:80".utf8))
    }

    @Test func exactNamesIncludeThePort() {
        #expect(local.isOwnExactly("127.0.0.1:8080".utf8))
        #expect(local.isOwnExactly("Icons.example".utf8))
        #expect(!local.isOwnExactly("127.0.0.1:8081".utf8))
        #expect(!local.isOwnExactly("127.0.0.1".utf8))
    }

    @Test(arguments: [
        ("a.example:80", true), ("[::1]:80", true), ("a b", false), ("a/b", false), ("a\"b", false),
        ("a@b", false), ("", false), ("a<b", false), ("é", false),
    ])
    func authoritiesAreValidated(_ text: String, _ isOne: Bool) {
        #expect(OwnNames.isAuthority(text.utf8) == isOne)
    }
}
