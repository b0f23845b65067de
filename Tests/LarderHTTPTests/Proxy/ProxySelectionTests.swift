import LarderCore
import LarderHTTP
import Testing

@Suite struct ProxySelectionTests {
    private func proxy(
        for url: String, proxy: String? = nil, noProxy: String? = nil,
        environment: [String: String] = [:]
    ) throws -> String? {
        try ProxySelection(proxy: proxy, noProxy: noProxy, environment: environment)
            .proxy(for: HTTPURL(url))?.description
    }

    // MARK: Environment

    static let all = [
        "http_proxy": "h:1", "HTTP_PROXY": "h:2", "https_proxy": "s:1", "HTTPS_PROXY": "s:2",
        "all_proxy": "a:1", "ALL_PROXY": "a:2",
    ]

    @Test(
        arguments: [
            ("http://x/", [], "http://h:1"), ("https://x/", [], "http://s:1"),
            // HTTP_PROXY is ignored, because in a CGI program it is the value of a request's header
            // field.
            ("http://x/", ["http_proxy"], "http://a:1"),
            ("http://x/", ["http_proxy", "all_proxy"], "http://a:2"),
            ("http://x/", ["http_proxy", "all_proxy", "ALL_PROXY"], nil),
            ("https://x/", ["https_proxy"], "http://s:2"),
            ("https://x/", ["https_proxy", "HTTPS_PROXY"], "http://a:1"),
            ("https://x/", ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"], nil),
        ] as [(String, [String], String?)])
    func theFirstVariableThatIsSetNamesTheProxy(
        _ url: String, without names: [String], _ expected: String?
    ) throws {
        var environment = Self.all
        for name in names { environment[name] = nil }
        #expect(try proxy(for: url, environment: environment) == expected)
        // An empty variable counts as unset.
        for name in names { environment[name] = "" }
        #expect(try proxy(for: url, environment: environment) == expected)
    }

    @Test func theProxyOptionOverridesTheEnvironment() throws {
        for url in ["http://x/", "https://x/"] {
            #expect(try proxy(for: url, proxy: "o:1", environment: Self.all) == "http://o:1")
            #expect(try proxy(for: url, proxy: "", environment: Self.all) == nil)
        }
    }

    @Test func hostsInTheNoProxyListHaveNoProxy() throws {
        let environment = ["http_proxy": "p:1", "no_proxy": "x", "NO_PROXY": "y"]
        #expect(try proxy(for: "http://x/", environment: environment) == nil)
        #expect(try proxy(for: "http://y/", environment: environment) != nil)
        // The list in the environment also applies to a proxy given as an option, unless a list is
        // given.
        #expect(try proxy(for: "http://x/", proxy: "o:1", environment: environment) == nil)
        #expect(try proxy(for: "http://x/", noProxy: "z", environment: environment) != nil)
        #expect(try proxy(for: "http://z/", noProxy: "z", environment: environment) == nil)
        #expect(try proxy(for: "http://x/", noProxy: "", environment: environment) != nil)
        #expect(
            try proxy(for: "http://y/", environment: ["http_proxy": "p:1", "NO_PROXY": "y"]) == nil)
    }

    // MARK: no_proxy

    @Test(arguments: [
        ("*", "http://anything/", true), ("a,*", "http://anything/", true),
        ("example.com", "http://example.com/", true), ("example.com", "http://EXAMPLE.com/", true),
        ("EXAMPLE.com", "http://example.com:8080/", true),
        ("example.com", "http://www.example.com/", true),
        ("example.com", "http://a.b.example.com/", true),
        ("example.com", "http://nonexample.com/", false), ("example.com", "http://com/", false),
        ("www.example.com", "http://example.com/", false),
        (".example.com", "http://example.com/", true),
        (".example.com", "http://www.example.com/", true),
        ("example.com.", "http://example.com/", true),
        ("example.com", "http://example.com./", true),
        ("a, example.com  b", "http://example.com/", true),
        ("a example.com", "http://example.com/", true),
        ("", "http://example.com/", false), (",, ,", "http://example.com/", false),
        (".", "http://a/", false),
        ("*.example.com", "http://www.example.com/", false),
        ("192.168.0.1", "http://192.168.0.1/", true), ("192.168.0.1", "http://192.168.0.2/", false),
        ("192.168.0.1", "http://3232235521/", true), ("168.0.1", "http://192.168.0.1/", false),
        ("192.168.0.0/16", "http://192.168.255.1/", true),
        ("192.168.0.0/16", "http://192.169.0.1/", false),
        ("192.168.0.0/33", "http://192.168.0.0/", false),
        ("192.168.0.0/x", "http://192.168.0.0/", false),
        ("10.0.0.0/8", "http://10.example/", false), ("0.0.0.0/0", "http://1.2.3.4/", true),
        ("::1", "http://[::1]/", true), ("[::1]", "http://[::1]/", true),
        ("::1", "http://[::2]/", false),
        ("fd00::/8", "http://[fd12::1]/", true), ("fd00::/8", "http://[fc12::1]/", false),
        ("192.168.0.0/16", "http://[::1]/", false), ("localhost", "http://localhost:80/", true),
    ])
    func noProxyListsMatchHosts(_ list: String, _ url: String, _ isException: Bool) throws {
        let selection = try ProxySelection(proxy: "p:1", noProxy: list, environment: [:])
        #expect((selection.proxy(for: try HTTPURL(url)) == nil) == isException)
    }

    // MARK: Servers

    @Test(arguments: [
        ("p", "http://p"), ("p:3128", "http://p:3128"), ("http://p:3128/", "http://p:3128"),
        ("https://p", "https://p"), ("socks4://p:1", "socks4://p:1"),
        ("SOCKS5h://p", "socks5h://p"),
        ("socks4a://p", "socks4a://p"), ("http://P:80", "http://p:80"),
        ("0x7f.1", "http://127.0.0.1"),
        ("http://me:p%40w@p:3128", "http://***@p:3128"),
        ("socks5://[::1]:1080", "socks5://[::1]:1080"),
        ("me:pw@p:1", "http://***@p:1"), ("http://me@p", "http://***@p"),
    ])
    func proxyServersAreParsed(_ text: String, _ shown: String) throws {
        #expect(try ProxyServer(text).description == shown)
    }

    @Test(arguments: [
        ("ftp://p", ProxyServer.ParseError.unsupportedScheme), ("file:///etc/passwd", .malformed),
        ("socks://p", .unsupportedScheme), ("http://", .malformed), ("http://p/path", .malformed),
        ("http://p?q", .malformed), ("p/#f", .malformed),
        ("http://a..b", .malformed), ("http://[::1%25lo]:1", .malformed),
        ("http://p:0", .malformed), ("p:99999", .malformed), ("p q", .malformed), ("", .malformed),
    ])
    func invalidProxyServersAreRefused(_ text: String, _ error: ProxyServer.ParseError) {
        #expect(throws: error) { try ProxyServer(text) }
    }

    @Test func anErrorNamesTheProxyVariable() throws {
        let error = try #require(throws: ProxySelection.SelectionError.self) {
            try ProxySelection(
                proxy: nil, noProxy: nil, environment: ["HTTPS_PROXY": "ftp://me:secret@p"])
        }
        #expect(error.variable == "HTTPS_PROXY")
        #expect(error.reason == .unsupportedScheme)
        #expect(!"\(error)".contains("secret"))
    }
}
