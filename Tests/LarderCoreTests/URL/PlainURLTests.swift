import LarderTestSupport
import Testing

@testable import LarderCore

/// The fast path for plain URLs, which must agree with the parser.
@Suite struct PlainURLTests {
    @Test(arguments: [
        "http://example.com/", "https://cdn.example.com/a/b.png?x=1&y=2", "http://127.0.0.1:8643/a",
        "http://h/", "http://h:1/a//b", "http://x-y.example:65535/@2x/a~b_(1).png?",
        "http://a.b/?q=/../.", "https://a.b/caf%C3%A9.png?a=%2f",
    ])
    func plainURLsAgreeWithTheParser(_ text: String) {
        #expect(HTTPURL(plain: text) != nil)
        expectAgreement(text)
    }

    @Test func randomURLsAgreeWithTheParser() {
        let parts = [
            "http://", "https://", "HTTP://", "h", "example.com", "127.0.0.1", "0x7f.1", "1.2.3",
            "1.2.3.04", "256.1.1.1", "1.2.3.4", ":80", ":443", ":08", ":0", ":65535", ":65536",
            ":8080", ":", "/", "/", "/a.png", ".", "..", "/.", "/..", "/.a", "?", "?a=b", "&", "#f",
            "%2e", "%2E", "%2F", "%00", "%c3", "%C3%A9", "%", "%4", "@", "u:p@", "A", "-", "_",
            "[::1]", "\\", " ", "\u{e9}", "xn--bcher-kva", "*", "'", "$", ";", "~", "|", "\"",
            "\0",
        ]
        let schemes = ["http://", "https://", "HTTP://", "hTTps://"]
        let common = [
            "h/", "example.com/a", "127.0.0.1:8080/", "a.b:81/x?y", "x-1.example/a/b.png?c=d",
            "Example.COM", "A.b:80", "a.B:443/a", "a.b?x",
        ]
        var random = Pseudorandom(seed: 4)
        var plain = 0
        for _ in 0..<1_000_000 / testShare {
            var text =
                random.next(below: 8) == 0 ? "" : schemes[random.next(below: schemes.count)]
            if random.next(below: 2) == 0 { text += common[random.next(below: common.count)] }
            for _ in 0..<random.next(below: 5) { text += parts[random.next(below: parts.count)] }
            if HTTPURL(plain: text) != nil { plain += 1 }
            expectAgreement(text)
        }
        #expect(plain > 40_000 / testShare)
    }

    @Test func commonURLsTakeTheFastPath() {
        #expect(HTTPURL(plain: "https://cdn.example.com/a/b.png?x=1&y=2") != nil)
        #expect(HTTPURL(plain: "http://127.0.0.1:8643/share/icons/a-b_c@2x.png") != nil)
    }

    private func expectAgreement(_ text: String) {
        guard let parsed = try? HTTPURL.parse(text, relativeTo: nil) else {
            #expect(HTTPURL(plain: text) == nil, "\(text)")
            return
        }
        // A normalised URL and its key do not change if they are parsed again.
        #expect((try? HTTPURL.parse(parsed.string, relativeTo: nil)) == parsed, "\(text)")
        #expect((try? HTTPURL.parse(parsed.key, relativeTo: nil))?.key == parsed.key, "\(text)")
        guard let plain = HTTPURL(plain: text) else { return }
        #expect(parsed.string == text)
        #expect(parsed.credentials == nil)
        #expect(
            plain.scheme == parsed.scheme && plain.host == parsed.host
                && plain.port == parsed.port,
            "\(text)")
    }
}
