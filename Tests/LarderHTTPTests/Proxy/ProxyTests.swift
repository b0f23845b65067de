import LarderHTTP
import LarderTestSupport
import LarderTestTLS
import Testing

@Suite(.timeLimit(.minutes(30))) struct ProxyTests {
    let origin: Origin

    init() throws {
        origin = try Origin(replies: ["/x": .ok("here")])
    }

    private func selection(_ proxy: String, noProxy: String = "") throws -> ProxySelection {
        try ProxySelection(proxy: proxy, noProxy: noProxy, environment: [:])
    }

    @Test func aProxyReceivesAbsoluteURLs() async throws {
        let proxy = try ForwardProxy()
        let selection = try selection(proxy.url())
        try await withClient {
            $0.proxies = selection
        } _: { client async throws in
            // Only the proxy knows the address of this name.
            let url = origin.url("/x", host: "only.the.proxy.knows.example")
            #expect(try await client.fetch(url).text == "here")
            #expect(proxy.requests.map(\.target) == [url])
        }
    }

    @Test func aURLIsRequestedInItsOwnSpelling() async throws {
        let targets = ["/x?", "/x/%7e%c3?a=%7c", "/x//a?b?", "/x;p?q=%27"]
        origin.onAny { _ in .ok("here") }
        let proxy = try ForwardProxy()
        let selection = try selection(proxy.url())
        for isProxied in [false, true] {
            try await withClient {
                if isProxied { $0.proxies = selection }
            } _: { client async throws in
                for target in targets {
                    #expect(try await client.fetch(origin.url(target)).text == "here")
                }
            }
        }
        #expect(origin.requests.prefix(targets.count).map(\.target) == targets)
        #expect(proxy.requests.map(\.target) == targets.map { origin.url($0) })
    }

    @Test(arguments: [TLSFront.ApplicationProtocol.http1, .http2])
    func aProxyTunnelsTLS(_ version: TLSFront.ApplicationProtocol) async throws {
        let proxy = try ForwardProxy()
        let front = try TLSFront(originPort: origin.port, offer: [version])
        defer { front.stop() }
        let selection = try selection(proxy.url(user: "me:secret"))
        try await withClient {
            $0.proxies = selection
            $0.certificateAuthorities = TestCertificates.authorityPath
        } _: { client async throws in
            let recorder = try await client.fetch(
                front.url("/x", host: "localhost"), headers: [("X-Own", "1")])
            _ = try await recorder.metrics()
            #expect(recorder.text == "here")
            // The proxy's response to CONNECT is not part of the response.
            #expect(recorder.heads.map(\.status) == [200])
            #expect(recorder.heads.first?.headers[first: "X-Proxy"] == nil)
            let request = try #require(proxy.requests.first)
            #expect(request.target == "localhost:\(front.port)")
            #expect(request.header("Proxy-Authorization") == "Basic bWU6c2VjcmV0")
            #expect(request.header("X-Own") == nil)
            #expect(origin.requests.first?.header("X-Own") == "1")
            #expect(origin.requests.first?.header("Proxy-Authorization") == nil)
        }
    }

    @Test func hostsInTheNoProxyListBypassTheProxy() async throws {
        let proxy = try ForwardProxy()
        let selection = try selection(proxy.url(), noProxy: "127.0.0.0/8")
        try await withClient {
            $0.proxies = selection
        } _: { client async throws in
            #expect(try await client.fetch(origin.url("/x")).text == "here")
            #expect(proxy.requests.isEmpty)
            #expect(try await client.fetch(origin.url("/x", host: "localhost")).text == "here")
            #expect(proxy.requests.count == 1)
        }
    }

    /// The address of the proxy may be private, but not an address behind it.
    @Test func literalAddressesAreRefusedBehindAProxy() async throws {
        let proxy = try ForwardProxy()
        let selection = try selection(proxy.url())
        try await withClient {
            $0.proxies = selection
            $0.addressPolicy = .publicOnly
        } _: { client async throws in
            for (host, _) in LiteralAddressTests.refused {
                let error = try await client.fetch(origin.url("/x", host: host)).error()
                #expect(error?.code == .addressRefused, "\(host)")
            }
            #expect(proxy.requests.isEmpty)
            #expect(try await client.fetch(origin.url("/x", host: "name.example")).text == "here")
            #expect(proxy.requests.count == 1)
        }
    }

    /// The same handle is used for two proxies and for a direct request.
    @Test func proxyCredentialsAreSentOnlyToTheirProxy() async throws {
        let proxy = try ForwardProxy()
        let other = try ForwardProxy()
        let front = try TLSFront(originPort: origin.port)
        defer { front.stop() }
        let selection = ProxySelection(
            http: try ProxyServer(other.url()),
            https: try ProxyServer(proxy.url(user: "me:secret")),
            exceptions: NoProxyList("127.0.0.1"))
        try await withClient {
            $0.proxies = selection
            $0.maximumConnections = 1
            $0.certificateAuthorities = TestCertificates.authorityPath
        } _: { client async throws in
            for url in [
                front.url("/x", host: "localhost"), origin.url("/x", host: "a.example"),
                origin.url("/x"),
            ] {
                #expect(try await client.fetch(url).text == "here")
            }
            #expect(proxy.requests.count == 1)
            #expect(other.requests.count == 1)
            #expect(other.requests.first?.header("Proxy-Authorization") == nil)
            #expect(origin.requests.allSatisfy { $0.header("Proxy-Authorization") == nil })
        }
    }

    // MARK: Failures

    /// Returns the error of a transfer through a proxy that fails.
    private func failure(
        of url: String, through proxy: String
    ) async throws -> TransferError? {
        let selection = try selection(proxy)
        var error: TransferError?
        try await withClient {
            $0.proxies = selection
            $0.connectTimeout = .seconds(30)
        } _: { client async throws in
            error = try await client.fetch(url).error()
        }
        #expect(error?.message.contains("secret") == false)
        return error
    }

    @Test(arguments: [
        (407, TransferError.Code.proxyRefused), (403, .proxyRefused), (502, .connectFailed),
    ])
    func aRefusedTunnelFails(_ status: Int, _ code: TransferError.Code) async throws {
        let proxy = try ForwardProxy(refusingWith: status)
        let error = try await failure(
            of: "https://a.example/", through: proxy.url(user: "me:secret"))
        #expect(error?.code == code)
        let shown = "the proxy \(proxy.url(user: "***")) answered with status \(status)"
        #expect(error?.message == shown)
    }

    @Test func aRefusedConnectionToAProxyFails() async throws {
        let port = try Origin.refusedPort()
        let error = try await failure(
            of: "http://a.example/", through: "http://me:secret@127.0.0.1:\(port)")
        #expect(error?.code == .connectionRefused)
        #expect(
            error?.message.hasPrefix("through the proxy http://***@127.0.0.1:\(port): ") == true)
    }

    @Test func anUnresolvableProxyNameFails() async throws {
        // A label of more than 63 bytes fails without a resolver.
        let name = String(repeating: "a", count: 70) + ".invalid"
        let error = try await failure(of: "http://a.example/", through: "http://me:secret@\(name)")
        #expect(error?.code == .nameNotResolved)
        #expect(error?.message.contains("http://***@\(name)") == true)
    }
}
