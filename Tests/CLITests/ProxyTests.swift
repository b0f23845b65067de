import LarderTestSupport
import LarderTestTLS
import Testing

/// Transfers through a proxy that an option or the environment sets.
@Suite struct ProxyTests {
    private let proxy: ForwardProxy

    init() throws { proxy = try ForwardProxy() }

    /// Prefetches from three hosts and returns the hosts that were requested through the proxy.
    private func targets(
        _ options: [String], environment: [String: String] = [:]
    ) async throws -> [String] {
        var targets: [String] = []
        try await withFixture { larder in
            larder.origin.on("/a", Icons.reply(1))
            let port = larder.origin.port
            let hosts = ["name.example", "www.name.example", "127.0.0.1"]
            let run = try larder.prefetchGuarded(
                try larder.manifest(urls: hosts.map { larder.origin.url("/a", host: $0) }),
                ["--allow-private-network"] + options
                    + hosts.flatMap { ["--resolve", "\($0):\(port):127.0.0.1"] },
                environment: environment)
            #expect(run.summary.fetched == 3, "\(run.finished)")
            targets = proxy.requests.map(\.target).sorted()
                .compactMap { $0.split(separator: "/").dropFirst().first }
                .map { String($0).replacing(":\(port)", with: "") }
        }
        return targets
    }

    private static let all = ["127.0.0.1", "name.example", "www.name.example"]

    @Test func anOptionSetsTheProxy() async throws {
        #expect(try await targets(["--proxy", proxy.url()]) == Self.all)
    }

    @Test(arguments: ["http_proxy", "all_proxy", "ALL_PROXY"])
    func environmentVariablesSetTheProxy(_ variable: String) async throws {
        #expect(try await targets([], environment: [variable: proxy.url()]) == Self.all)
    }

    @Test(arguments: ["HTTP_PROXY", "https_proxy"])
    func otherVariablesDoNotSetTheProxy(_ variable: String) async throws {
        #expect(try await targets([], environment: [variable: proxy.url()]) == [])
    }

    @Test func anEmptyOptionDisablesTheProxy() async throws {
        #expect(try await targets(["--proxy", ""], environment: ["http_proxy": proxy.url()]) == [])
    }

    @Test(arguments: [
        ("name.example", ["127.0.0.1"]), ("127.0.0.0/8", ["name.example", "www.name.example"]),
        ("www.name.example", ["127.0.0.1", "name.example"]), ("*", []),
    ])
    func theNoProxyVariableExemptsHosts(_ list: String, _ expected: [String]) async throws {
        let environment = ["http_proxy": proxy.url(), "no_proxy": list]
        #expect(try await targets([], environment: environment) == expected)
    }

    @Test func theNoProxyOptionOverridesTheVariable() async throws {
        let environment = ["http_proxy": proxy.url(), "NO_PROXY": "*"]
        let found = try await targets(["--no-proxy", "name.example"], environment: environment)
        #expect(found == ["127.0.0.1"])
    }

    @Test func proxyCredentialsAreSentOnlyToTheProxy() async throws {
        try await withFixture { larder in
            larder.origin.on("/a", Icons.reply(1))
            let front = try TLSFront(originPort: larder.origin.port)
            let run = try larder.prefetchGuarded(
                try larder.manifest(larder.origin.url("/a"), front.url("/a")),
                [
                    "--proxy", proxy.url(user: "user:sEcReT"), "--allow-private-network",
                    "--ca-cert", TestCertificates.authorityPath,
                ])
            #expect(run.summary.fetched == 2, "\(run.finished)")
            #expect(proxy.requests.count == 2)
            for request in proxy.requests {
                #expect(request.header("Proxy-Authorization") == CredentialTests.basic)
            }
            for request in larder.origin.requests {
                #expect(request.header("Proxy-Authorization") == nil)
                #expect(request.header("Authorization") == nil)
            }
            SecretSearch("sEcReT").expectNothing(in: run.finished)
            try SecretSearch("sEcReT").expectNothing(inFilesBelow: larder.cache)
        }
    }

    @Test func proxyFailuresNameTheProxyWithoutItsPassword() async throws {
        try await withFixture { larder in
            let refusing = try ForwardProxy(refusingWith: 407)
            let unreachable = "http://user:sEcReT@127.0.0.1:\(try Origin.refusedPort())"
            for (proxy, code) in [
                (refusing.url(user: "user:sEcReT"), "proxy-refused"),
                (unreachable, "connection-refused"),
            ] {
                let run = try larder.prefetchGuarded(
                    try larder.manifest("https://name.example/a"), ["--proxy", proxy])
                #expect(run.summary.failures == [code: 1], "\(run.finished)")
                let shown = proxy.replacing("user:sEcReT", with: "***")
                #expect(run.lines[0].error?.message.contains(shown) == true, "\(run.finished)")
                SecretSearch("sEcReT").expectNothing(in: run.finished)
                try SecretSearch("sEcReT").expectNothing(inFilesBelow: larder.directory.path)
            }
        }
    }
}
