import LarderTransfer
import Testing

@Suite struct HTTPURLTests {
    @Test(arguments: [
        ("http://example.com", "http://example.com/"),
        ("  HTTP://EXAMPLE.com:80/a\n", "http://example.com/a"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("http://h/a/b/../c/./d#part", "http://h/a/c/d"),
        ("http://h/a?b=c#d", "http://h/a?b=c"),
        ("http://h?b", "http://h/?b"),
        ("http://h/图标.png", "http://h/%E5%9B%BE%E6%A0%87.png"),
        ("http://h/a%2Fb", "http://h/a%2Fb"),
        (" http://h/a b?c d ", "http://h/a%20b?c%20d"),
        ("http://2130706433/x", "http://127.0.0.1/x"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
        ("http://me:pw@h/a", "http://h/a"),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://BÜCHER.example/", "http://xn--bcher-kva.example/"),
        ("http://b%c3%bccher.example/", "http://xn--bcher-kva.example/"),
        ("http://faß.example/", "http://xn--fa-hia.example/"),
        ("http://XN--BCHER-KVA.example/", "http://xn--bcher-kva.example/"),
        ("http://１２７。0。0。1/", "http://127.0.0.1/"),
    ])
    func hasOneSpelling(_ text: String, _ canonical: String) throws {
        let url = try HTTPURL(text)
        #expect(url.string == canonical)
        // Its own spelling is canonical, too.
        #expect(try HTTPURL(url.string) == url)
    }

    @Test func knowsItsParts() throws {
        let url = try HTTPURL("https://me:pw@Example.COM:8443/a?b")
        #expect(url.scheme == .https)
        #expect(url.host == "example.com")
        #expect(url.port == 8443)
        #expect(url.origin == "https://example.com:8443")
        #expect(try HTTPURL("http://h/").port == 80)
        #expect(try HTTPURL("https://h/").origin == "https://h:443")
        #expect(try HTTPURL("http://[::1]/").host == "[::1]")
        #expect(try HTTPURL("http://bücher.example/").host == "xn--bcher-kva.example")
    }

    @Test func equalsWhatIsSpelledAlike() throws {
        let one = try HTTPURL("http://H:80/a#x")
        let other = try HTTPURL("http://h/a")
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(try other != HTTPURL("http://h/b"))
    }

    @Test(arguments: [
        ("http://me:pw@h/", "me", "pw"), ("http://me@h/", "me", ""), ("http://:pw@h/", "", "pw"),
        ("http://a%40b:p%3Aw%2F%25@h/", "a@b", "p:w/%"), ("http://ü:%C3%A4@h/", "ü", "ä"),
        ("http://me:pw@bücher.example/", "me", "pw"),
    ])
    func takesOffTheCredentials(_ text: String, _ user: String, _ password: String) throws {
        let url = try HTTPURL(text)
        #expect(url.credentials == Credentials(user: user, password: password))
        #expect(!url.string.contains("@"))
        #expect(try url == HTTPURL(url.string))
        #expect(url.hashValue == url.with(nil).hashValue)
    }

    @Test(arguments: ["http://h/", "http://@h/", "http://:@h/", "http://h/a@b", "http://h/?a:b@c"])
    func mayHaveNone(_ text: String) throws {
        #expect(try HTTPURL(text).credentials == nil)
    }

    /// Who resolves against a URL with credentials gets them for its origin alone.
    @Test(
        arguments: [
            ("b", "me"), ("/b", "me"), ("?b", "me"), ("//h/b", "me"), ("http://h:80/b", "me"),
            ("HTTP://H/b", "me"), ("http://you@h/b", "you"), ("http://other/b", nil),
            ("http://h:81/b", nil), ("https://h/b", nil), ("//sub.h/b", nil),
            ("http://you@o/b", "you"),
        ] as [(String, String?)])
    func keepsCredentialsWithinTheOrigin(_ reference: String, _ user: String?) throws {
        let base = try HTTPURL("http://me:pw@h/a")
        #expect(try HTTPURL(reference, relativeTo: base).credentials?.user == user)
    }

    @Test(arguments: ["http://a%00b@h/", "http://a:%0D%0Ab@h/", "http://%FF@h/"])
    func refusesCredentialsThatAreNoText(_ text: String) {
        #expect(throws: HTTPURL.ParseError.self) { try HTTPURL(text) }
    }

    @Test func printsNoCredentials() throws {
        let url = try HTTPURL("http://me:secret@h/a")
        var dumped = ""
        dump(url, to: &dumped)
        for text in ["\(url)", "\(String(reflecting: url))", "\(url.credentials!)", dumped] {
            #expect(!text.contains("secret"), "\(text)")
        }
    }

    @Test func hidesCredentialsFromPeople() throws {
        #expect("\(try HTTPURL("http://me:pw@h/a"))" == "http://***@h/a")
        #expect("\(try HTTPURL("http://me@h/a"))" == "http://***@h/a")
        #expect("\(try HTTPURL("http://:pw@h/a"))" == "http://***@h/a")
        #expect("\(try HTTPURL("http://h/a@b"))" == "http://h/a@b")
    }

    @Test(arguments: [
        ("b.png", "http://h/dir/b.png"), ("/b.png", "http://h/b.png"),
        ("../b", "http://h/b"), ("?q", "http://h/dir/a?q"), ("//other/x", "http://other/x"),
        ("#f", "http://h/dir/a?old"),
        ("https://other/x", "https://other/x"), ("ü", "http://h/dir/%C3%BC"),
        ("//bücher.example/x", "http://xn--bcher-kva.example/x"),
    ])
    func resolvesReferences(_ reference: String, _ resolved: String) throws {
        let base = try HTTPURL("http://h/dir/a?old")
        #expect(try HTTPURL(reference, relativeTo: base).string == resolved)
    }

    @Test(arguments: [
        ("javascript:alert(1)", "javascript"), ("FILE:///etc/passwd", "file"),
        ("ftp://h/a", "ftp"), ("data:image/png;base64,AAAA", "data"),
        ("localhost:80/a", "localhost"),
        ("c:\\icons\\a.png", "c"),
    ])
    func refusesOtherSchemes(_ text: String, _ scheme: String) {
        #expect(throws: HTTPURL.ParseError.unsupportedScheme(scheme)) { try HTTPURL(text) }
        #expect(throws: HTTPURL.ParseError.unsupportedScheme(scheme)) {
            try HTTPURL(text, relativeTo: HTTPURL("http://h/"))
        }
    }

    @Test(arguments: ["", " ", "a.png", "/a.png", "//h/a.png", "1http://h/"])
    func needsABaseForAReference(_ text: String) {
        #expect(throws: HTTPURL.ParseError.relativeWithoutBase) { try HTTPURL(text) }
    }

    @Test(arguments: [
        "http://", "http:///", "http://a b/", "http://h:99999/", "http://h:x/", "http://[::1/",
        "http://h/a\u{0}b", "http://h/a\tb", "http://h/a\r\nX: y", "http://.../\u{7F}",
        "http://\u{FF0F}evil.example/", "http://good.example\u{FF0F}.evil.example/",
        "http://ü\(String(repeating: "a", count: 80)).example/",
    ])
    func refusesWhatIsNoURL(_ text: String) {
        do {
            let url = try HTTPURL(text)
            Issue.record("\(text.debugDescription) was taken as \(url.string)")
        } catch {
            guard case .malformed(let reason) = error else {
                Issue.record("\(text.debugDescription): \(error)")
                return
            }
            #expect(!reason.isEmpty)
        }
    }
}
