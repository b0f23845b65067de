import LarderCore
import LarderHTTP
import Testing

@Suite struct HTTPURLTests {
    init() { CurlHosts.install() }

    @Test(arguments: [
        ("http://example.com", "http://example.com/"),
        ("  HTTP://EXAMPLE.com:80/a\n", "http://example.com/a"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("http://h/a/b/../c/./d#part", "http://h/a/c/d"),
        ("http://h/a?b=c#d", "http://h/a?b=c"),
        ("http://h?b", "http://h/?b"),
        ("http://h/图标.png", "http://h/%E5%9B%BE%E6%A0%87.png"),
        ("http://h/a%2Fb", "http://h/a%2Fb"), ("http://h/a%2fb", "http://h/a%2fb"),
        ("http://h/a\tb", "http://h/ab"), ("http://h/a\r\nX: y", "http://h/aX:%20y"),
        ("http://h/a\u{0}b", "http://h/a%00b"), ("http://h\\a\\..\\b?\\", "http://h/b?%5C"),
        ("http:h/a", "http://h/a"), ("https:\\\\h", "https://h/"), ("http:///h/a", "http://h/a"),
        ("http://h/a?", "http://h/a?"), ("http://h?#", "http://h/?"),
        ("http://h/%2e/a/%2E%2e/b/.%2e/.png", "http://h/.png"),
        ("http://h/100%.png?%&%g1%2", "http://h/100%25.png?%25&%25g1%252"),
        ("http://h/\"<>[]^`{|}'", "http://h/%22%3C%3E%5B%5D%5E%60%7B%7C%7D'"),
        ("http://h/?\"<>[]^`{|}'", "http://h/?%22%3C%3E%5B%5D%5E%60%7B%7C%7D%27"),
        ("http://h/!$&()*+,;=:@-._~", "http://h/!$&()*+,;=:@-._~"),
        ("http://0300.250.0xFe.1/", "http://192.250.254.1/"), ("http://0/", "http://0.0.0.0/"),
        ("http://1.2.3.4./", "http://1.2.3.4/"), ("http://h./", "http://h./"),
        ("http://[1:2:0:0:5:0:0:0]/", "http://[1:2:0:0:5::]/"),
        ("http://[::FFFF:1.2.3.4]/", "http://[::ffff:102:304]/"),
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
    func urlsAreNormalised(_ text: String, _ canonical: String) throws {
        let url = try HTTPURL(text)
        #expect(url.string == canonical)
        // Normalising a URL twice changes nothing.
        #expect(try HTTPURL(url.string) == url)
    }

    /// Keys are normalised as in RFC 3986, sections 6.2.2.1 and 6.2.2.2, and no further.
    @Test(arguments: [
        ["http://h/a|b", "http://h/a%7Cb", "http://h/a%7cb"],
        [
            "http://h/%7Euser/%41%2d%5F%2e.png", "http://h/~user/A-_..png",
            "http://h/~user/A%2D_..png",
        ],
        ["http://h/ü", "http://h/%c3%bc", "http://h/%C3%BC"],
        ["http://h/?q='%7e[1]", "http://h/?q=%27~%5b1%5D"],
        ["http://h/100%.png", "http://h/100%25.png"],
        ["http://h/%257e", "http://h/%25%37e"],
    ])
    func equivalentURLsHaveTheSameKey(_ spellings: [String]) throws {
        #expect(Set(try spellings.map { try HTTPURL($0).key }).count == 1)
        // Requests keep the spelling.
        #expect(try HTTPURL("http://h/%7euser%2f").string == "http://h/%7euser%2f")
    }

    @Test(arguments: [
        ("http://h/a%2Fb", "http://h/a/b"), ("http://h/a%3Fb", "http://h/a?b"),
        ("http://h/a%26b", "http://h/a&b"), ("http://h/a%2Bb", "http://h/a+b"),
        ("http://h/a'", "http://h/a%27"), ("http://h/a%257e", "http://h/a%7e"),
        ("http://h/a?", "http://h/a"), ("http://h/a/", "http://h/a"), ("http://h/A", "http://h/a"),
        ("http://h/a+b", "http://h/a%20b"), ("http://h/%5C", "http://h//"),
    ])
    func differentURLsHaveDifferentKeys(_ one: String, _ other: String) throws {
        #expect(try HTTPURL(one).key != HTTPURL(other).key)
    }

    /// Header fields and lists may have another encoding than UTF-8.
    @Test func bytesThatAreNotUTF8AreKept() throws {
        let latin1 = Array("http://h/caf".utf8) + [0xE9] + Array("?".utf8) + [0xFC, 0xC3, 0xBC]
        #expect(try HTTPURL(String(urlBytes: latin1)).string == "http://h/caf%E9?%FC%C3%BC")
        #expect(String(urlBytes: "http://h/é".utf8) == "http://h/é")
        #expect(throws: HTTPURL.ParseError.self) {
            try HTTPURL(String(urlBytes: Array("http://b".utf8) + [0xFC, 0x2F]))
        }
    }

    @Test func aURLHasASchemeAHostAPortAndAnOrigin() throws {
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

    @Test func urlsWithTheSameNormalFormAreEqual() throws {
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
    func credentialsAreSeparatedFromTheURL(_ text: String, _ user: String, _ password: String)
        throws
    {
        let url = try HTTPURL(text)
        #expect(url.credentials == Credentials(user: user, password: password))
        #expect(!url.string.contains("@"))
        #expect(try url == HTTPURL(url.string))
        #expect(url.hashValue == url.with(nil).hashValue)
    }

    @Test(arguments: ["http://h/", "http://@h/", "http://:@h/", "http://h/a@b", "http://h/?a:b@c"])
    func aURLWithoutUserinfoHasNoCredentials(_ text: String) throws {
        #expect(try HTTPURL(text).credentials == nil)
    }

    @Test(
        arguments: [
            ("b", "me"), ("/b", "me"), ("?b", "me"), ("//h/b", "me"), ("http://h:80/b", "me"),
            ("HTTP://H/b", "me"), ("http://you@h/b", "you"), ("http://other/b", nil),
            ("http://h:81/b", nil), ("https://h/b", nil), ("//sub.h/b", nil),
            ("http://you@o/b", "you"),
        ] as [(String, String?)])
    func resolvedURLsInheritCredentialsWithinTheOriginOnly(_ reference: String, _ user: String?)
        throws
    {
        let base = try HTTPURL("http://me:pw@h/a")
        #expect(try HTTPURL(reference, relativeTo: base).credentials?.user == user)
    }

    @Test(arguments: ["http://a%00b@h/", "http://a:%0D%0Ab@h/", "http://%FF@h/"])
    func credentialsThatAreNotTextAreRefused(_ text: String) {
        #expect(throws: HTTPURL.ParseError.self) { try HTTPURL(text) }
    }

    @Test func printingAURLRevealsNoCredentials() throws {
        let url = try HTTPURL("http://me:secret@h/a")
        var dumped = ""
        dump(url, to: &dumped)
        for text in ["\(url)", "\(String(reflecting: url))", "\(url.credentials!)", dumped] {
            #expect(!text.contains("secret"), "\(text)")
        }
    }

    @Test func theDescriptionOfAURLMasksCredentials() throws {
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
    func relativeReferencesAreResolved(_ reference: String, _ resolved: String) throws {
        let base = try HTTPURL("http://h/dir/a?old")
        #expect(try HTTPURL(reference, relativeTo: base).string == resolved)
    }

    @Test(arguments: [
        ("javascript:alert(1)", "javascript"), ("FILE:///etc/passwd", "file"),
        ("ftp://h/a", "ftp"), ("data:image/png;base64,AAAA", "data"),
        ("localhost:80/a", "localhost"),
        ("c:\\icons\\a.png", "c"),
    ])
    func otherURLSchemesAreRefused(_ text: String, _ scheme: String) {
        #expect(throws: HTTPURL.ParseError.unsupportedScheme(scheme)) { try HTTPURL(text) }
        #expect(throws: HTTPURL.ParseError.unsupportedScheme(scheme)) {
            try HTTPURL(text, relativeTo: HTTPURL("http://h/"))
        }
    }

    @Test(arguments: ["", " ", "a.png", "/a.png", "//h/a.png", "1http://h/"])
    func aRelativeReferenceNeedsABase(_ text: String) {
        #expect(throws: HTTPURL.ParseError.relativeWithoutBase) { try HTTPURL(text) }
    }

    @Test(arguments: [
        "http://", "http:///", "http://a b/", "http://h:99999/", "http://h:x/", "http://[::1/",
        "http://.../\u{7F}", "http://a..b/", "http://./", "http://h:0/", "http://@/",
        "http://u@:80/",
        "http://\u{FF0F}evil.example/", "http://good.example\u{FF0F}.evil.example/",
        "http://ü\(String(repeating: "a", count: 80)).example/", "http://%FF/", "http://a%2Fb/",
        "http://a%00b/", "http://256.1.1.1/", "http://1.2.3.4.5/", "http://a.0x7f/", "http://09/",
        "http://[::1%25lo]/", "http://[1::2::3]/", "http://[:1]/", "http://[1.2.3.4]/",
        "http://[::01.2.3.4]/", "http://a[::1]/", "http://h:8 0/",
    ])
    func malformedURLsAreRefused(_ text: String) {
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
