import LarderTestSupport
import Testing

@testable import LarderTransfer

/// What is taken as plain must be exactly what libcurl's parser makes of it.
@Suite struct PlainHTTPURLTests {
    @Test(arguments: [
        "http://example.com/", "https://cdn.example.com/a/b.png?x=1&y=2", "http://127.0.0.1:8643/a",
        "http://h/", "http://h:1/a//b", "http://x-y.example:65535/@2x/a~b_(1).png?",
        "http://a.b/?q=/../.",
    ])
    func agreesWithTheParser(_ text: String) throws { try expectAgreement(text) }

    @Test func agreesOnWhateverIsMadeOfAwkwardParts() throws {
        let parts = [
            "http://", "https://", "HTTP://", "h", "example.com", "127.0.0.1", "0x7f.1", "1.2.3",
            "1.2.3.04",
            "256.1.1.1", "1.2.3.4", ":80", ":443", ":08", ":0", ":65535", ":65536", ":8080", ":",
            "/", "/",
            "/a.png", ".", "..", "/.", "/..", "/.a", "?", "?a=b", "&", "#f", "%2e", "%", "@",
            "u:p@", "A", "-",
            "_", "[::1]", "\\", " ", "\u{e9}", "xn--bcher-kva", "*", "'", "$", ";", "~", "|", "\"",
            "\0",
        ]
        let usual = [
            "h/", "example.com/a", "127.0.0.1:8080/", "a.b:81/x?y", "x-1.example/a/b.png?c=d",
        ]
        var random = Pseudorandom(seed: 4)
        var plain = 0
        for _ in 0..<200_000 {
            var text = random.next(below: 8) == 0 ? "" : parts[random.next(below: 2)]
            if random.next(below: 2) == 0 { text += usual[random.next(below: usual.count)] }
            for _ in 0..<random.next(below: 5) { text += parts[random.next(below: parts.count)] }
            if PlainHTTPURL(text) != nil { plain += 1 }
            try expectAgreement(text)
        }
        #expect(plain > 10_000)
    }

    @Test func theUsualIsPlain() {
        #expect(PlainHTTPURL("https://cdn.example.com/a/b.png?x=1&y=2") != nil)
        #expect(PlainHTTPURL("http://127.0.0.1:8643/share/icons/a-b_c@2x.png") != nil)
    }

    private func expectAgreement(_ text: String) throws {
        guard let plain = PlainHTTPURL(text) else { return }
        let parsed = try HTTPURL(parsing: text)
        #expect(parsed.string == text)
        #expect(parsed.credentials == nil)
        #expect(
            plain.scheme == parsed.scheme && plain.host == parsed.host && plain.port == parsed.port,
            "\(text)")
    }
}
