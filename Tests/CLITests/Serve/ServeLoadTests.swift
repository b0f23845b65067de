import Foundation
import LarderTestSupport
import Testing

@Suite struct ServeLoadTests {
    /// With 1,000 clients that read nothing and 1,000 that complete no request, other clients are
    /// still served, and memory grows little.
    @Test(.timeLimit(.minutes(30))) func slowAndIdleClientsDoNotBlockOthers() async throws {
        try #require(Self.allowManyFiles(), "this test needs 4,100 open files")
        try await withFixture { larder in
            let small = larder.origin.serveIcons(1)[0]
            larder.origin.on(
                "/large", .ok([UInt8](repeating: 1, count: 5_000_000), type: "text/plain"))
            let large = larder.origin.url("/large")
            _ = try larder.prefetch(try larder.manifest(small, large), options: ["--any-content"])
            let serve = try ServeRun(larder)
            try await onThreadOfItsOwn {
                let client = try serve.client()
                for _ in 0..<100 { _ = try client.get("/icon?url=\(small)") }
                let before = try serve.residentBytes
                var slow: [RawClient] = []
                for number in 0..<1_000 {
                    let client = try serve.client(receiveBuffer: 4_096)
                    client.send("GET /icon?url=\(large) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    if number % 100 == 0 { try client.waitForBytes() }
                    slow.append(client)
                }
                var open: [RawClient] = []
                for number in 0..<1_000 {
                    let client = try serve.client()
                    if number % 2 == 0 { client.send("GET /icon?url=\(small) HT") }
                    open.append(client)
                }
                for _ in 0..<100 {
                    #expect(try client.get("/icon?url=\(small)").body == Icons.icon(0))
                    #expect(try serve.client().get("/healthz").status == 200)
                }
                let grown = try serve.residentBytes - before
                // NIO's channel and parser take 10 kB for each connection.
                #expect(grown < 40 << 20, "\(grown / 1_000) kB more")
                // A slow client that reads in the end gets the whole body.
                #expect(try slow[500].readResponse().body.count == 5_000_000)
                withExtendedLifetime((slow, open)) {}
            }
            serve.process.kill(SIGKILL)
        }
    }

    /// The number of requests makes a leak of a few bytes for each request visible.
    @Test(.isLong, .timeLimit(.minutes(30))) func memoryDoesNotGrowWithRequests() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(200)
            _ = try larder.prefetch(try larder.manifest(urls: urls))
            let count = testSetting("LARDER_SERVE_REQUESTS") ?? 200_000
            for options in [[], ["--memory-limit", "0"]] {
                let serve = try ServeRun(larder, options)
                try await onThreadOfItsOwn {
                    func ask(_ count: Int) throws {
                        let clients = try (0..<16).map { _ in try serve.client() }
                        for number in 0..<(count / 16) {
                            let url = urls[number % urls.count]
                            for client in clients {
                                client.send(
                                    "GET /icon?url=\(url) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                            }
                            for client in clients {
                                guard try client.readResponse().status == 200 else {
                                    throw BrokenPromise("an icon is missing")
                                }
                            }
                        }
                    }
                    try ask(count / 10)
                    let before = try serve.residentBytes
                    try ask(count)
                    let grown = try serve.residentBytes - before
                    #expect(grown < 4 << 20, "\(grown / 1_000) kB more")
                }
                try serve.stop()
            }
        }
    }

    /// Raises the limit on open files. Returns false if the system does not permit enough.
    private static func allowManyFiles() -> Bool {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return false }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 8_192))
        return setrlimit(resource, &limit) == 0 && limit.rlim_cur >= 4_100
    }
}
