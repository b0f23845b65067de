import Foundation
import LarderTestSupport
import Testing

/// `larder serve` as a process: signals, files and exit statuses.
@Suite struct ServeTests {
    /// The list of missing icons is a manifest. After its prefetch, the server serves the icons
    /// without a restart.
    @Test func missingIconsAreServedAfterTheirPrefetch() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            _ = try larder.prefetch(try larder.manifest(urls[0]))
            let list = larder.directory.path("missing.json")
            let serve = try ServeRun(larder, ["--mirror", "--missing-list", list])
            let client = try serve.client()
            #expect(try client.get(urls[0]).body == Icons.icon(0))
            for target in [urls[1], "/icon?url=\(urls[2])", urls[1], "/icon?url=no%20url"] {
                #expect(try client.get(target).status == 404)
            }
            #expect(
                try client.get("http://user:secret@127.0.0.1:\(larder.origin.port)/2").status == 404
            )
            // The list is written every few seconds. The server stays responsive until then.
            while !FileManager.default.fileExists(atPath: list) {
                try #require(client.get("/healthz").status == 200)
            }
            #expect(try permissions(list) == 0o600)
            let text = try String(contentsOfFile: list, encoding: .utf8)
            #expect(
                text == "[\n{\"icon\":\"\(urls[1])\"},\n{\"icon\":\"\(urls[2])\"}\n]\n", "\(text)")
            let requestCount = larder.origin.count()
            let run = try larder.prefetch(list)
            #expect(run.outcomes == ["fetched", "fetched"])
            #expect(larder.origin.count() == requestCount + 2)
            for (number, url) in urls.enumerated() {
                #expect(try client.get(url).body == Icons.icon(number))
            }
            #expect(try serve.stop().status == 0)
            // Icons that are now in the cache are removed from the list.
            #expect(try String(contentsOfFile: list, encoding: .utf8) == "[]\n")
        }
    }

    @Test func theMissingListIsKeptAcrossRestarts() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            _ = try larder.prefetch(try larder.manifest(urls[0]))
            let list = larder.directory.path("missing.json")
            for url in urls[1...] {
                let serve = try ServeRun(larder, ["--missing-list", list])
                #expect(try serve.client().get("/icon?url=\(url)").status == 404)
                #expect(try serve.stop(SIGINT).status == 0)
            }
            let text = try String(contentsOfFile: list, encoding: .utf8)
            #expect(text.contains(urls[1]) && text.contains(urls[2]))
            // A list of an earlier version becomes readable only by the user.
            #expect(chmod(list, 0o644) == 0)
            #expect(try ServeRun(larder, ["--missing-list", list]).stop(SIGINT).status == 0)
            #expect(try permissions(list) == 0o600)
        }
    }

    private func permissions(_ path: String) throws -> mode_t {
        var status = stat()
        try #require(lstat(path, &status) == 0)
        return status.st_mode & 0o7777
    }

    /// These files were not written by a server, or are longer than its lists.
    @Test(arguments: [
        "my notes", #"[{"name": "Notes", "icon": "http://a.example/1"}]"#,
        #"[{"icon": "http://a.example/1"}, {"icon": "http://a.example/2", "priority": 1}]"#,
        #"[{"icon": "http://user:secret@a.example/1"}]"#, #"[{"name": "Notes"}]"#,
        ServeTests.list(10_001), #"[{"icon":"http://a.example/1","category":"Notes"}]"#,
        "# Notes\nhttp://a.example/1\n",
        #"{"title":"Notes","apps":[{"icon":"http://a.example/1"}]}"#,
        #"{"apps":[]}"#, #"[{"icon":"http://a.example/1"}]"#, ServeTests.list(2) + "\n",
        "[\n{\"icon\":\"http://a.example/1\"},\n{\"icon\":\"http://a.example/1\"}\n]\n",
        "[\n{\"icon\":\"http://u:p@a.example/1\"}\n]\n", "\n", "{}",
    ])
    func theMissingListDoesNotReplaceOtherFiles(text: String) async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            let other = try larder.write(text.utf8, to: "other.json")
            let refused = try larder.run(
                "serve", "--listen", "127.0.0.1:0", "--missing-list", other)
            #expect(refused.status == 65, "\(refused)")
            #expect(
                refused.standardError.contains(
                    "other.json: is not a list written by larder; use another file for"),
                "\(refused)")
            #expect(try String(contentsOfFile: other, encoding: .utf8) == text)
        }
    }

    /// The server recognises its own list, even with unusual characters in URLs.
    @Test(arguments: ["", "[]", "[]\n", ServeTests.list(2)])
    func anExistingMissingListIsRewritten(text: String) async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            let list = try larder.write(text.utf8, to: "missing.json")
            for _ in 0..<2 {
                let serve = try ServeRun(larder, ["--missing-list", list])
                let url = "http://b.example/%22%5C%E2%80%AE%C3%A9e%CC%81%C2%85"
                #expect(try serve.client().get("/icon?url=\(url)").status == 404)
                #expect(try serve.stop().status == 0)
            }
            let written = try String(contentsOfFile: list, encoding: .utf8)
            #expect(written.contains("http://b.example/"))
            #expect(written.contains("http://a.example/2") == text.contains("http://a.example/2"))
        }
    }

    private static func list(_ count: Int) -> String {
        let entries = (1...count).map { #"{"icon":"http://a.example/\#($0)"}"# }
        return "[\n" + entries.joined(separator: ",\n") + "\n]\n"
    }

    @Test func aPortInUseIsReported() async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            let finished = try larder.run(
                "serve", "--listen", "127.0.0.1:\(larder.origin.port)")
            #expect(finished.status == 1, "\(finished)")
            #expect(finished.standardError.contains("127.0.0.1:\(larder.origin.port)"))
        }
    }

    /// A slow client gets the whole body after the server was told to stop.
    @Test(arguments: [SIGTERM, SIGINT]) func aStoppingServerFinishesItsResponses(_ signal: Int32)
        async throws
    {
        try await withFixture { larder in
            let bytes = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 / 7 ^ $0) }
            larder.origin.on("/large", .ok(bytes, type: "application/octet-stream"))
            let url = larder.origin.url("/large")
            _ = try larder.prefetch(try larder.manifest(url), options: ["--any-content"])
            let serve = try ServeRun(larder)
            let client = try serve.client(receiveBuffer: 4_096)
            client.send("GET /icon?url=\(url) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try client.waitForBytes()
            serve.process.kill(signal)
            #expect(serve.process.waitForOutput { _, error in error.contains("finishing") })
            #expect(try client.readResponse().body == bytes)
            let finished = try serve.process.wait()
            #expect(finished.status == 0, "\(finished)")
        }
    }

    @Test(arguments: [true, false]) func aSecondSignalOrTheGracePeriodEndsTheServer(_ twice: Bool)
        async throws
    {
        try await withFixture { larder in
            larder.origin.on(
                "/large", .ok([UInt8](repeating: 1, count: 8_000_000), type: "text/plain"))
            let url = larder.origin.url("/large")
            _ = try larder.prefetch(try larder.manifest(url), options: ["--any-content"])
            let serve = try ServeRun(larder, ["--grace", twice ? "1h" : "200ms"])
            let client = try serve.client(receiveBuffer: 4_096)
            client.send("GET /icon?url=\(url) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try client.waitForBytes()
            serve.process.kill(SIGTERM)
            if twice {
                #expect(serve.process.waitForOutput { _, error in error.contains("finishing") })
                serve.process.kill(SIGTERM)
            }
            let finished = try serve.process.wait()
            #expect(finished.status == 143, "\(finished)")
        }
    }

    @Test func theAccessLogHasTheDocumentedKeys() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            _ = try larder.prefetch(try larder.manifest(url))
            let log = larder.directory.path("access.jsonl")
            let serve = try ServeRun(larder, ["--access-log", log])
            let client = try serve.client()
            _ = try client.get("/icon?url=\(url)")
            _ = try client.get("/icon?url=https://a.example/?token=secret")
            _ = try client.get("/\u{202E}\u{1F600}")
            try serve.stop()
            let text = try String(contentsOfFile: log, encoding: .utf8)
            let lines = try JSONValue.lines(Data(text.utf8))
            #expect(lines.count == 3)
            #expect(lines.map { $0["status"] } == [.integer(200), .integer(404), .integer(404)])
            #expect(!text.contains("secret"))
            #expect(!text.unicodeScalars.contains("\u{202E}"))
            let document = try OutputDocument()
            let keys = Set(try document.table("serve --access-log").words)
            for line in lines { #expect(Set(line.keys) == keys) }
        }
    }

    @Test func theServersMetricsAreDocumented() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            _ = try larder.prefetch(try larder.manifest(url))
            let serve = try ServeRun(larder)
            #expect(try serve.client().get("/icon?url=\(url)").status == 200)
            let metrics = try serve.client().get("/metrics")
            let text = String(decoding: metrics.body, as: UTF8.self)
            let names = Set(
                text.matches(of: /(?:^|\n)(larder_server_\w+)[ ]/).map { String($0.output.1) })
            let document = try OutputDocument()
            #expect(names == Set(try document.table("serve: /metrics", "metric").words))
            #expect(text.contains("larder_objects{cache="))
            try serve.stop()
        }
    }

    @Test(arguments: [
        ["--listen", "8080"], ["--listen", "a:b"], ["--listen", "::1:80"],
        ["--public-url", "icons.example"], ["--public-url", "https://"],
        ["--public-url", "https://a.example/\r\nX: y"], ["--manifest", ""], ["--manifest", "-"],
        ["--manifest", "a/x.json", "--manifest", "b/x.json"], ["--allow-origin", "a b"],
        ["--allow-origin", "icons.example"], ["--allow-origin", "https://icons.example/"],
        ["--missing-list", "-"], ["--max-connections", "0"], ["--idle-timeout", "0"],
        ["--fallback-status", "500"],
    ])
    func wrongUsageOfServeIsRejected(_ options: [String]) async throws {
        try await withFixture { larder in
            let finished = try larder.run(arguments: ["serve"] + options)
            #expect(finished.status == 64, "\(finished)")
        }
    }
}
