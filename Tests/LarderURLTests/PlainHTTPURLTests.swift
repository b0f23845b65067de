import LarderTestSupport
import LarderURL
import Testing

@testable import LarderTransfer

/// What is taken as plain must be exactly what libcurl's parser makes of it.
@Suite struct PlainHTTPURLTests {
    @Test(arguments: [
        "http://example.com/", "https://cdn.example.com/a/b.png?x=1&y=2", "http://127.0.0.1:8643/a",
        "http://h/", "http://h:1/a//b", "http://x-y.example:65535/@2x/a~b_(1).png?",
        "http://a.b/?q=/../.", "https://a.b/caf%C3%A9.png?a=%2F",
    ])
    func agreesWithTheParser(_ text: String) { expectAgreement(text) }

    @Test func agreesOnWhateverIsMadeOfAwkwardParts() {
        let parts = [
            "http://", "https://", "HTTP://", "h", "example.com", "127.0.0.1", "0x7f.1", "1.2.3",
            "1.2.3.04", "256.1.1.1", "1.2.3.4", ":80", ":443", ":08", ":0", ":65535", ":65536",
            ":8080", ":", "/", "/", "/a.png", ".", "..", "/.", "/..", "/.a", "?", "?a=b", "&", "#f",
            "%2e", "%2E", "%2F", "%00", "%c3", "%C3%A9", "%", "%4", "@", "u:p@", "A", "-", "_",
            "[::1]", "\\", " ", "\u{e9}", "xn--bcher-kva", "*", "'", "$", ";", "~", "|", "\"",
            "\0",
        ]
        let schemes = ["http://", "https://", "HTTP://", "hTTps://"]
        let usual = [
            "h/", "example.com/a", "127.0.0.1:8080/", "a.b:81/x?y", "x-1.example/a/b.png?c=d",
            "Example.COM", "A.b:80", "a.B:443/a", "a.b?x",
        ]
        var random = Pseudorandom(seed: 4)
        var (plain, respelled) = (0, 0)
        for _ in 0..<1_000_000 / testShare {
            var text =
                random.next(below: 8) == 0 ? "" : schemes[random.next(below: schemes.count)]
            if random.next(below: 2) == 0 { text += usual[random.next(below: usual.count)] }
            for _ in 0..<random.next(below: 5) { text += parts[random.next(below: parts.count)] }
            if PlainHTTPURL(text) != nil { plain += 1 }
            expectAgreement(text)
            if expectAgreementOnSpelling(text) { respelled += 1 }
        }
        #expect(plain > 40_000 / testShare)
        #expect(respelled > 40_000 / testShare)
    }

    @Test(arguments: [
        ("HTTP://Host:80/a", "http://host/a"), ("https://HOST", "https://host/"),
        ("http://h:443", "http://h:443/"), ("https://h:443?a=B#c", "https://h/?a=B"),
        ("http://h:/A", "http://h/A"), ("http://1.2.3.4:80", "http://1.2.3.4/"),
        ("http://h/a", "http://h/a"), ("http://h/#?/", "http://h/"),
    ])
    func anotherSpellingOfItIsFound(_ text: String, _ canonical: String) {
        #expect(PlainHTTPURL(canonicalizing: text)?.string == canonical)
        _ = expectAgreementOnSpelling(text)
    }

    @Test(arguments: [
        "http://u:p@h/", "http://h/a/../b", "http://h/%2e", "http://h/\u{e9}",
        "http://b\u{fc}cher/",
        "http://h:080/", "http://0x7f.1/", "http://h/a?", "file:///a", "/a", "http:/h/a", "",
        "HTTP://h/a b", "http://[::1]/",
    ])
    func othersAreLeftToTheParser(_ text: String) {
        #expect(PlainHTTPURL(canonicalizing: text) == nil)
    }

    @Test func theUsualIsPlain() {
        #expect(PlainHTTPURL("https://cdn.example.com/a/b.png?x=1&y=2") != nil)
        #expect(PlainHTTPURL("http://127.0.0.1:8643/share/icons/a-b_c@2x.png") != nil)
    }

    private func expectAgreement(_ text: String) {
        guard let plain = PlainHTTPURL(text) else { return }
        guard let parsed = try? HTTPURL(parsing: text) else {
            Issue.record("\(text) is refused")
            return
        }
        #expect(parsed.string == text)
        #expect(parsed.credentials == nil)
        #expect(
            plain.isSecure == (parsed.scheme == .https) && plain.host == parsed.host
                && plain.port == parsed.port,
            "\(text)")
    }

    /// - Returns: whether it is spelled otherwise, and that is known without the parser.
    private func expectAgreementOnSpelling(_ text: String) -> Bool {
        guard let plain = PlainHTTPURL(canonicalizing: text) else { return false }
        #expect((try? HTTPURL(parsing: text))?.string == plain.string, "\(text)")
        return plain.string != text
    }
}
