import Foundation
import LarderHTTP
import LarderIcons
import LarderPrefetch
import LarderTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct TransferFetcherTests {
    private func fetcher(maximumBodyBytes: Int64 = 16 << 20) throws -> TransferFetcher {
        var transfer = TransferConfiguration()
        transfer.addressPolicy = .allowAll
        return try TransferFetcher(transfer, maximumBodyBytes: maximumBodyBytes)
    }

    private func request(_ text: String) throws -> IconRequest {
        IconRequest(url: try #require(URL(string: text)))
    }

    @Test func anIconHasTheMediaTypeAndFreshnessFieldsOfItsResponse() async throws {
        let origin = try Origin()
        let bytes = IconPainter.png(seed: 1)
        origin.on("/a", Reply.ok(bytes).header("ETag", "\"1\"").header("X-Other", "2"))
        let icon = try await fetcher().fetch(request(origin.url("/a")))
        #expect(icon.data == Data(bytes) && icon.mediaType == "image/png")
        #expect(icon.headers.first { $0.name == "ETag" }?.value == "\"1\"")
        #expect(!icon.headers.contains { $0.name == "X-Other" })
        #expect(icon.responseURL == nil)
    }

    /// An empty Location is a redirect to the same URL.
    @Test(arguments: ["c", ""])
    func aFetcherFollowsUpToTenRedirects(location: String) async throws {
        let origin = try Origin()
        let bytes = IconPainter.png(seed: 1)
        origin.on("/a", .status(302).header("Location", "b"))
        origin.on("/b", .ok(bytes))
        let icon = try await fetcher().fetch(request(origin.url("/a")))
        #expect(icon.data == Data(bytes) && icon.responseURL == origin.url("/b"))
        origin.on("/c", .status(302).header("Location", location))
        let failure = await #expect(throws: IconFailure.self) {
            try await fetcher().fetch(request(origin.url("/c")))
        }
        #expect(failure?.message.contains("more than 10 redirects") == true)
        #expect(origin.count("/c") == 11)
    }

    /// The word is not a coding, and the range was not requested but has all bytes.
    @Test func aCompleteIconIsAcceptedDespiteUnusualFields() async throws {
        let bytes = IconPainter.png(seed: 1)
        let range = "bytes 0-\(bytes.count - 1)/\(bytes.count)"
        let origin = try Origin(replies: [
            "/word": Reply.ok(bytes).header("Content-Encoding", "UTF-8"),
            "/range": Reply.ok(bytes).status(206).header("Content-Range", range),
        ])
        for path in ["/word", "/range"] {
            let icon = try await fetcher().fetch(request(origin.url(path)))
            #expect(icon.data == Data(bytes), "\(path)")
        }
    }

    @Test func cookiesAreSentOnlyInTheirRedirectChain() async throws {
        let origin = try Origin()
        origin.onAny { request in
            request.header("Cookie") == nil
                ? Reply.redirect(to: request.target).header("Set-Cookie", "a=1; Path=/")
                : .ok(IconPainter.png(seed: 1))
        }
        let fetcher = try fetcher()
        for _ in 0..<2 { _ = try await fetcher.fetch(request(origin.url("/a"))) }
        #expect(origin.requests.map { $0.header("Cookie") } == [nil, "a=1", nil, "a=1"])
    }

    @Test(arguments: [
        ("/404", "status 404"), ("/patience", "status 503"), ("/page", "an HTML page"),
        ("/cut", "PNG ends"), ("/long", "limit is 4096"), ("/nowhere", "without a Location"),
        ("/part", "status 206"), ("/coding", "'br'"),
    ])
    func aFetchOfAnIncompleteOrUnsuitableBodyFails(_ path: String, _ message: String) async throws {
        let origin = try Origin()
        let bytes = IconPainter.png(seed: 1)
        origin.on("/404", .status(404))
        origin.on("/patience", .status(503).header("Retry-After", "120"))
        origin.on("/page", .ok(Array("<!doctype html><html><body>Sorry</body></html>".utf8)))
        origin.on("/cut", .ok(Array(bytes.dropLast(10))))
        origin.on("/long", .ok([UInt8](repeating: 1, count: 5000)))
        origin.on("/nowhere", .status(302))
        let range = "bytes 0-\(bytes.count - 1)/\(bytes.count + 1)"
        origin.on("/part", Reply.ok(bytes).status(206).header("Content-Range", range))
        origin.on("/coding", Reply.ok("text").header("Content-Encoding", "br"))
        let failure = await #expect(throws: IconFailure.self) {
            try await fetcher(maximumBodyBytes: 4096).fetch(request(origin.url(path)))
        }
        #expect(failure?.code == .fetch && failure?.url == origin.url(path))
        #expect(failure?.message.contains(message) == true, "\(failure?.message ?? "")")
        #expect(failure?.retryAfter == (path == "/patience" ? 120 : nil))
        #expect(origin.count() == 1)
    }

    @Test(arguments: ["ftp://a.example/x", "http://", "data:,x", "/x"])
    func aFetchOfANonHTTPURLFails(_ text: String) async throws {
        await #expect(throws: IconFailure.self) { try await fetcher().fetch(request(text)) }
    }

    @Test func aCancelledTaskCancelsItsTransfer() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.on("/a", Reply.ok(IconPainter.png(seed: 1)).heldBy(gate))
        weak var gone: TransferFetcher?
        do {
            let fetcher = try fetcher()
            gone = fetcher
            let request = try request(origin.url("/a"))
            let task = Task { try await fetcher.fetch(request) }
            try await origin.waitForRequests(1)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            // A task that was cancelled before its fetch started.
            let other = Task { () async throws -> FetchedIcon in
                while !Task.isCancelled { await Task.yield() }
                return try await fetcher.fetch(request)
            }
            other.cancel()
            await #expect(throws: CancellationError.self) { try await other.value }
        }
        #expect(gone == nil)
        gate.open()
    }

    @Test func aLoaderFetchesAndStoresEachIconOnce() async throws {
        let origin = try Origin()
        origin.onAny { request in
            .ok(IconPainter.png(seed: request.target.hashValue))
                .header("Cache-Control", "max-age=3600")
        }
        try await withTemporaryDirectory { directory in
            let loader = IconLoader(
                cache: IconCache(
                    directory: URL(fileURLWithPath: directory.path("cache")),
                    memory: MemoryCache(costLimit: 0, pressure: nil)),
                fetcher: try fetcher())
            let urls = try (0..<100).map { try #require(URL(string: origin.url("/\($0)"))) }
            for _ in 0..<2 {
                await withThrowingTaskGroup(of: Void.self) { group in
                    for url in urls { group.addTask { _ = try await loader.icon(for: url) } }
                }
            }
            #expect(origin.count() == 100)
            await loader.cache.flush()
            let (report, _) = try await prefetch(
                manifest(urls.map(\.absoluteString)), into: directory.path("cache"))
            #expect(report.count(.cached) == 100 && origin.count() == 100)
        }
    }
}
