import LarderServer
import LarderTestSupport
import Testing

/// `--mirror`: the requests that a forward proxy receives.
@Suite struct MirrorRouteTests {
    private static let icon = noise(2_000)
    private static let contents = [
        "http://icons.example/a.png?v=1": icon, "http://icons.example:81/b.png": noise(3),
    ]

    private func withMirror(_ body: @escaping @Sendable (ServerFixture) throws -> Void) async throws
    {
        try await withServer(Self.contents) { configuration, _ in
            configuration.isMirror = true
        } _: {
            try body($0)
        }
    }

    @Test func aMirrorServesAbsoluteTargets() async throws {
        try await withMirror { fixture in
            let client = try fixture.client()
            #expect(try client.get("http://icons.example/a.png?v=1").body == Self.icon)
            #expect(try client.get("http://icons.example/a.png?v=1", method: "HEAD").status == 200)
            #expect(try client.get("HTTP://Icons.example:80/a.png?v=1").body == Self.icon)
            #expect(try client.get("http://icons.example:81/b.png").body == noise(3))
            for target in [
                "http://icons.example/a.png", "http://icons.example/a.png?v=2",
                "http://icons.example/A.png?v=1", "http://icons.example:82/b.png",
                "http://user:secret@icons.example/a.png?v=1", "http://other.example/a.png?v=1",
            ] {
                #expect(try client.get(target).status == 404, "\(target)")
            }
        }
    }

    /// curl and Python's requests omit the `?` of an empty query.
    @Test func anEmptyQueryMayBeMissingInAMirrorsTarget() async throws {
        try await withServer([
            "http://icons.example/a?": Self.icon, "http://icons.example/b?": Self.icon,
            "http://icons.example/b": noise(3),
        ]) { configuration, _ in
            configuration.isMirror = true
        } _: { fixture in
            let client = try fixture.client()
            for target in ["a", "a?", "b?"] {
                #expect(try client.get("http://icons.example/\(target)").body == Self.icon)
            }
            #expect(try client.get("http://icons.example/b").body == noise(3))
            #expect(try client.get("http://icons.example/a?x").status == 404)
        }
    }

    /// Firefox, OkHttp, java.net.URI, Python's requests and curl spell the same URL differently.
    @Test func aMirrorAcceptsTheSpellingsOfClients() async throws {
        let (path, other) = ("/a%7Cb%5B1%5D/~u%C3%BC'.png?q=%7C%27", "/caf%E9")
        try await withServer([
            "http://icons.example\(path)": Self.icon, "http://icons.example\(other)": noise(3),
        ]) { configuration, _ in
            configuration.isMirror = true
        } _: { fixture in
            for target in [
                path, "/a|b[1]/~u%C3%BC'.png?q=|%27", "/a%7cb[1]/%7Eu%c3%bc'.png?q=|%27",
                "/a%7Cb[1]/~u%C3%BC'.png?q=%7C'", "/a|b[1]/~u\u{FC}'.png?q=|'",
            ] {
                let client = try fixture.client()
                for target in ["http://icons.example\(target)", target] {
                    client.send("GET \(target) HTTP/1.1\r\nHost: icons.example\r\n\r\n")
                    #expect(try client.readResponse().body == Self.icon, "\(target)")
                }
            }
            // Bytes are kept, even if they are not UTF-8.
            let client = try fixture.client()
            client.send(Array("GET /caf".utf8) + [0xE9] + Array(" HTTP/1.1\r\nHost: ".utf8))
            client.send(Array("icons.example\r\nX: ".utf8) + [0xE9] + Array("\r\n\r\n".utf8))
            #expect(try client.readResponse().body == noise(3))
            for target in ["/a%7Cb%5B1%5D/~u%FC'.png?q=%7C%27", "/caf%C3%A9", "/caf\u{FFFD}"] {
                #expect(try fixture.client().get("http://icons.example\(target)").status == 404)
            }
        }
    }

    /// Targets with the server's own address lead to its own pages.
    @Test func aMirrorServesItsOwnPages() async throws {
        try await withMirror { fixture in
            let client = try fixture.client()
            #expect(try client.get("http://127.0.0.1:\(fixture.port)/healthz").status == 200)
            #expect(try client.get("http://localhost:\(fixture.port)/healthz").status == 200)
            #expect(try client.get("http://127.0.0.1:1/healthz").status == 404)
            let response = try client.get("http://127.0.0.1:\(fixture.port)?url=a")
            #expect(String(decoding: response.body, as: UTF8.self).contains("no such path"))
        }
    }

    /// If `/etc/hosts` maps the host to the server, only the `Host` field names it.
    @Test func aMirrorServesHostsNamedByTheHostField() async throws {
        try await withMirror { fixture in
            let client = try fixture.client()
            client.send("GET /a.png?v=1 HTTP/1.1\r\nHost: icons.example\r\n\r\n")
            #expect(try client.readResponse().body == Self.icon)
            client.send("GET /healthz HTTP/1.1\r\nHost: icons.example\r\n\r\n")
            #expect(try client.readResponse().status == 404)
        }
    }

    @Test(arguments: [
        "http:///a.png", "http://", "ftp://icons.example/a.png", "*", "icons.example",
        "http://a b/", "http://[/", "javascript:alert(1)",
    ])
    func malformedTargetsAreRefusedByAMirror(_ target: String) async throws {
        try await withMirror { fixture in
            let client = try fixture.client()
            client.send("GET \(target) HTTP/1.1\r\nHost: x.example\r\n\r\n")
            let status = try client.readResponse().status
            #expect([400, 404].contains(status), "\(target): \(status)")
            #expect(try fixture.client().get("/healthz").status == 200)
        }
    }

    @Test func aMirrorRefusesTunnels() async throws {
        try await withMirror { fixture in
            let client = try fixture.client()
            client.send(
                "CONNECT icons.example:443 HTTP/1.1\r\nHost: icons.example:443\r\n\r\n")
            let response = try client.readResponse()
            #expect(response.status == 405)
            #expect(response.fields["allow"] == "GET, HEAD")
            #expect(
                String(decoding: response.body, as: UTF8.self).contains("CONNECT is not supported"))
            #expect(try client.isEnded())
        }
    }

    @Test func otherHostsAreRefusedWithoutTheMirrorOption() async throws {
        try await withServer(Self.contents) { fixture in
            let client = try fixture.client()
            #expect(try client.get("http://icons.example/a.png?v=1").status == 421)
            client.send("GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n")
            #expect(try client.readResponse().status == 421)
            #expect(try client.get("http://127.0.0.1:\(fixture.port)/healthz").status == 200)
        }
    }
}
