import Foundation
import LarderCore
import LarderServer
import LarderTestSupport
import Testing

/// `/manifest`: manifests whose icon URLs lead to the server.
@Suite struct ManifestRouteTests {
    private static let icon = noise(50)

    private func withManifest(
        _ entries: [[String: any Sendable]], publicURL: String? = nil,
        onProblem: @escaping @Sendable (String) -> Void = { _ in },
        _ body: @escaping @Sendable (ServerFixture) throws -> Void
    ) async throws {
        try await withServer(["https://a.example/x?a=1&b=2": Self.icon]) {
            configuration, directory in
            let path = directory.path("apps.json")
            try JSONSerialization.data(withJSONObject: entries)
                .write(to: URL(fileURLWithPath: path))
            configuration.manifests = [ServedManifest(name: "my apps.json", source: .file(path))]
            configuration.publicURL = publicURL
            configuration.onProblem = onProblem
        } _: {
            try body($0)
        }
    }

    private static func entries(_ fixture: ServerFixture) throws -> [[String: Any]] {
        let response = try fixture.client().get("/manifest/my%20apps.json")
        #expect(response.status == 200)
        #expect(response.fields["content-type"] == "application/json")
        let object = try JSONSerialization.jsonObject(with: Data(response.body))
        return try #require(object as? [[String: Any]])
    }

    @Test func iconsOfAServedManifestLeadToTheServer() async throws {
        let digest = ReferenceSHA256.hex(Self.icon)
        let problems = Problems()
        try await withManifest(
            [
                [
                    "name": "Näme \"x\"", "icon": "https://a.example/x?a=1&b=2", "priority": 4,
                    "sha256": digest, "size": 50,
                ], ["icon": "https://a.example/y", "key": "app 2"], ["icon": 3],
            ], onProblem: problems.add
        ) { fixture in
            #expect(problems.all.count == 1 && problems.all[0].contains("1 entry"))
            let entries = try Self.entries(fixture)
            #expect(entries.count == 2)
            let icon = try #require(entries[0]["icon"] as? String)
            let base = "http://localhost"
            #expect(icon.hasPrefix("\(base)/icon?url="))
            #expect(try fixture.client().get(String(icon.dropFirst(base.count))).body == Self.icon)
            #expect(entries[0]["name"] as? String == "Näme \"x\"")
            #expect(entries[0]["priority"] as? Int == 4)
            #expect(entries[0]["size"] as? Int == 50)
            #expect((entries[0]["integrity"] as? String)?.hasPrefix("sha256-") == true)
            #expect(entries[1]["icon"] as? String == "\(base)/icon?url=key:app%202")
        }
    }

    @Test func aServedManifestUsesThePublicURL() async throws {
        try await withManifest(
            [["icon": "https://a.example/y"]], publicURL: "https://icons.example/larder"
        ) { fixture in
            let icon = try Self.entries(fixture).first?["icon"] as? String
            #expect(icon == "https://icons.example/larder/icon?url=https://a.example/y")
        }
    }

    /// `larder localize --server` writes such manifests.
    @Test(arguments: [nil, "https://icons.example/larder"])
    func aManifestCanHaveURLsOfTheServer(_ publicURL: String?) async throws {
        let base = publicURL ?? "http://localhost"
        let url = "\(base)/icon?url=https://a.example/x%3Fa%3D1%26b%3D2"
        try await withManifest([["icon": url]], publicURL: publicURL) { fixture in
            let icon = try #require(try Self.entries(fixture).first?["icon"] as? String)
            #expect(icon.hasPrefix("\(base)/icon?url="))
            let client = try fixture.client()
            #expect(try client.get(String(icon.dropFirst(base.count))).body == Self.icon)
            // Other servers' URLs stay URLs.
            let other = "/icon?url=https://b.example/icon%3Furl%3Dhttps://a.example/x"
            #expect(try client.get(other).status == 404)
        }
    }

    @Test func conditionsAndChangesOfAManifestAreHonoured() async throws {
        let problems = Problems()
        try await withManifest(
            [["icon": "https://a.example/y"]], onProblem: problems.add
        ) { fixture in
            let client = try fixture.client()
            let target = "/manifest/my%20apps.json"
            let tag = try #require(client.get(target).fields["etag"])
            #expect(try client.get(target, ["If-None-Match: \(tag)"]).status == 304)
            #expect(try client.get(target, ["If-Match: \(tag)"]).status == 200)
            #expect(try client.get(target, ["If-Match: \"other\""]).status == 412)
            let path = fixture.directory.path("apps.json")
            try Data(#"[{"icon":"https://a.example/y"},{"icon":"https://a.example/z"}]"#.utf8)
                .write(to: URL(fileURLWithPath: path))
            #expect(try client.get(target, ["If-None-Match: \(tag)"]).status == 200)
            #expect(try Self.entries(fixture).count == 2)
            // If the file becomes invalid, the last version is served. This is reported once.
            let texts = ["no manifest", #"[{"name":"x","iconn":"http://a/b"}]"#]
            for (count, text) in texts.enumerated() {
                try Data(text.utf8).write(to: URL(fileURLWithPath: path))
                for _ in 0..<3 { #expect(try Self.entries(fixture).count == 2) }
                #expect(problems.all.count == count + 1)
                #expect(problems.all[count].contains("apps.json"))
            }
        }
    }

    @Test func aChangeOfACachedManifestIsNoticed() async throws {
        let url = "https://a.example/apps.json"
        @Sendable func list(_ count: Int) -> [UInt8] {
            let entries = (0..<count).map { #"{"icon":"https://a.example/\#($0)"}"# }
            return Array("[\(entries.joined(separator: ","))]".utf8)
        }
        try await withServer([url: list(1)]) { configuration, _ in
            configuration.manifests = [
                ServedManifest(name: "my apps.json", source: .url(try HTTPURL(url)))
            ]
        } _: { fixture in
            #expect(try Self.entries(fixture).count == 1)
            try ServerFixture.fill(fixture.cache, with: [url: list(2)], type: nil)
            #expect(try Self.entries(fixture).count == 2)
        }
    }

    /// Other clients get the last version, and no thread is blocked.
    @Test func clientsDoNotWaitForAManifestThatIsBeingRead() async throws {
        try await withManifest([["icon": "https://a.example/y"]]) { fixture in
            let path = fixture.directory.path("apps.json")
            try FileManager.default.removeItem(atPath: path)
            try #require(mkfifo(path, 0o600) == 0)
            let reader = try fixture.client()
            reader.send("GET /manifest/my%20apps.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
            // Returns when the server opens the pipe.
            let pipe = try #require(FileHandle(forWritingAtPath: path))
            for _ in 0..<8 { #expect(try Self.entries(fixture).count == 1) }
            #expect(
                try fixture.client().get("/icon?url=https://a.example/none").status == 404)
            try pipe.write(contentsOf: Data(#"[{"icon":"https://a.example/z"}]"#.utf8))
            try pipe.close()
            let read = String(decoding: try reader.readResponse().body, as: UTF8.self)
            #expect(read.contains("https://a.example/z"))
        }
    }

    @Test func anUnknownManifestIsNotFound() async throws {
        try await withManifest([["icon": "https://a.example/y"]]) { fixture in
            let client = try fixture.client()
            for name in ["", "apps.json", "..", "%2e%2e/apps.json", "my%20apps.json%00", "%ff"] {
                #expect(try client.get("/manifest/\(name)").status == 404, "\(name)")
            }
        }
    }

    /// The manifest is longer than any buffer, and the client pauses before it reads.
    @Test func aLongManifestIsSentCompletely() async throws {
        let entries = (0..<20_000).map { ["icon": "https://a.example/\($0)", "name": "App \($0)"] }
        try await withManifest(entries) { fixture in
            let client = try fixture.client(receiveBuffer: 8_192)
            client.send("GET /manifest/my%20apps.json HTTP/1.1\r\nHost: localhost:1\r\n\r\n")
            #expect(try fixture.client().get("/healthz").status == 200)
            let response = try client.readResponse()
            let object = try JSONSerialization.jsonObject(with: Data(response.body))
            let read = try #require(object as? [[String: Any]])
            #expect(read.count == 20_000)
            #expect(
                read.last?["icon"] as? String
                    == "http://localhost:1/icon?url=https://a.example/19999")
        }
    }
}
