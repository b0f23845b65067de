import LarderHTTP
import LarderTestSupport
import Testing

/// The syntax of `--resolve` and `--connect-to`, and the connections that they cause.
@Suite(.timeLimit(.minutes(30))) struct DestinationRuleTests {
    @Test(arguments: [
        "a.example:80:127.0.0.1", "a.example:80:127.0.0.1,8.8.8.8", "a.example:443:[::1],127.0.0.1",
        "a.example:443:::1", "*:80:127.0.0.1",
    ])
    func resolveRulesAreParsed(_ text: String) {
        #expect(ResolveRule(text) != nil)
    }

    @Test(arguments: [
        "", "a", "a:80", "a:80:", "a:0:127.0.0.1", "a:99999:127.0.0.1", "a:x:127.0.0.1",
        ":80:127.0.0.1", "a:80:b.example", "a:80:127.0.0.1,", "-a:80", "a b:80:127.0.0.1",
    ])
    func invalidResolveRulesAreRefused(_ text: String) {
        #expect(ResolveRule(text) == nil)
    }

    @Test(arguments: [
        "a:80:b:81", "::b:81", "a::b:", "a:80::81", "[::1]:80:[::2]:81", ":80:[::1]:", ":::",
    ])
    func connectToRulesAreParsed(_ text: String) {
        #expect(ConnectToRule(text) != nil)
    }

    @Test(arguments: [
        "", "a", "a:80", "a:80:b", "a:80:b:81:c", "a:x:b:81", "a:0:b:81", "[::1:80:b:81",
        "a b:80:c:1",
        "a:80:b:99999",
    ])
    func invalidConnectToRulesAreRefused(_ text: String) {
        #expect(ConnectToRule(text) == nil)
    }

    @Test func connectionsFollowTheRules() async throws {
        let origin = try Origin(replies: ["/x": .ok("here")])
        let resolve = try #require(ResolveRule("A.example.:\(origin.port):127.0.0.1"))
        let connectTo = try #require(ConnectToRule("b.example:80:127.0.0.1:\(origin.port)"))
        try await withClient {
            $0.resolve = [resolve]
            $0.connectTo = [connectTo]
        } _: { client async throws in
            for url in [origin.url("/x", host: "a.example"), "http://b.example/x"] {
                let recorder = try await client.fetch(url)
                #expect(recorder.text == "here")
            }
            #expect(origin.requests.map(\.host) == ["a.example", "b.example"])
        }
    }

    /// A rule does not exempt a private address.
    @Test func theAddressesInRulesAreChecked() async throws {
        let origin = try Origin(replies: ["/x": .ok("here")])
        let addresses = "127.0.0.1,[::1],10.0.0.1"
        let resolve = try #require(ResolveRule("a.example:\(origin.port):\(addresses)"))
        let connectTo = try #require(ConnectToRule("b.example:80:127.0.0.1:\(origin.port)"))
        try await withClient {
            $0.resolve = [resolve]
            $0.connectTo = [connectTo]
            $0.addressPolicy = .publicOnly
        } _: { client async throws in
            for url in [origin.url("/x", host: "a.example"), "http://b.example/x"] {
                let recorder = try await client.fetch(url)
                let error = try #require(await recorder.error())
                #expect(error.code == .addressRefused)
                #expect(error.message.contains("127.0.0.1 is a loopback address"), "\(error)")
                #expect(error.message.contains("--allow-private-network"), "\(error)")
                #expect(error.message.contains("--allow-host "), "\(error)")
            }
        }
        #expect(origin.connectionsOpened == 0)
    }

    @Test func onlyAnAllowedHostMayHaveAPrivateAddress() async throws {
        let origin = try Origin(replies: ["/x": .ok("here")])
        let names = ["a.example", "b.example"]
        let rules = names.compactMap { ResolveRule("\($0):\(origin.port):127.0.0.1") }
        let open = try #require(HostPattern("a.example"))
        try await withClient {
            $0.resolve = rules
            $0.addressPolicy = .publicOnly(and: [open])
        } _: { client async throws in
            let urls = names.map { origin.url("/x", host: $0) }
            #expect(try await client.fetch(urls[0]).text == "here")
            let other = try await client.fetch(urls[1])
            let error = await other.error()
            #expect(error?.code == .addressRefused)
            #expect(origin.connectionsOpened == 1)
        }
    }
}
