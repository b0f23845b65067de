import LarderCore
import LarderHTTP
import Testing

@testable import LarderPrefetch

@Suite struct PartTests {
    init() { CurlHosts.install() }

    /// The last byte of `printf %s HOST | sha256sum`.
    @Test(arguments: [
        ("example.com", 71), ("cdn.example.com", 208), ("apps.example.org", 103),
        ("localhost", 99), ("127.0.0.1", 160), ("[::1]", 252), ("xn--bcher-kva.example", 54),
        ("is1-ssl.mzstatic.com", 195), ("f-droid.org", 230), ("a.example", 85), ("d.example", 9),
    ])
    func thePartOfAHostIsTheLastByteOfItsDigest(_ host: String, _ number: UInt8) {
        #expect(Part(ofHost: host).number == number)
        #expect(Part(ofHost: host + ".") == Part(ofHost: host))
    }

    @Test(arguments: [
        ("HTTPS://Example.COM:8443/Icon.png?x#y", 71), ("http://user:secret@example.com./", 71),
        ("https://b\u{FC}cher.example/", 54), ("http://0x7f.1/", 160), ("http://[0:0::1]:81/", 252),
    ])
    func everySpellingOfAURLHasThePartOfItsHost(_ url: String, _ number: UInt8) throws {
        #expect(Part(ofHost: try HTTPURL(url).host).number == number)
    }

    @Test func aResourceWithoutAHostHasThePartOfItsKey() {
        #expect(Part(ofKey: "key:app-1").number == 100)
        // A key is plain text, so a dot at its end counts.
        #expect(Part(ofKey: "key:app-1.") != Part(ofKey: "key:app-1"))
    }
}
