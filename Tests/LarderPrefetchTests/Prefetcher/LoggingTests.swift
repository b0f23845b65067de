import LarderCore
import LarderPrefetch
import LarderTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct LoggingTests {
    @Test func retriesHoldsRedirectsAndBatchesAreLogged() async throws {
        let origin = try Origin()
        origin.on("/moved", .redirect(to: "/icon"))
        origin.on("/icon") { request in
            request.attempt == 1
                ? .status(503).header("Retry-After", "1") : .ok(IconPainter.png(seed: 1))
        }
        let log = CollectedLog()
        try await withTemporaryDirectory { directory in
            let urls = [origin.url("/moved?token=s3cret")]
            let (report, _) = try await prefetch(
                manifest(urls), into: directory.path("cache")
            ) {
                $0.logger = log.logger
                $0.retry.overloadBase = .milliseconds(1)
            }
            #expect(report.count(.fetched) == 1)
        }
        #expect(log.messages("manifests planned").first?["missing"] == "1")
        #expect(log.messages("redirected").first?["to"] == origin.url("/icon"))
        let origins = log.messages("origin requests a delay").map { $0["origin"] }
        #expect(origins == [try HTTPURL(origin.url("/")).origin])
        let retries = log.messages("retrying")
        #expect(retries.map { $0["code"] } == ["http-503"])
        #expect(!log.messages("batch committed").isEmpty)
        #expect(!log.messages("connection opened").isEmpty)
        #expect(!log.lines.joined().contains("s3cret"), "\(log.lines)")
    }

    @Test func aResumedBodyIsLogged() async throws {
        let icon = IconPainter.largeBMP(seed: 1, bytes: 196_000)
        let origin = try Origin()
        origin.onAny { request in
            let reply = Reply.ranged(icon, tag: "\"1\"", for: request)
            return request.attempt == 1 ? reply.cut(after: 100_000) : reply
        }
        let log = CollectedLog()
        try await withTemporaryDirectory { directory in
            _ = try await prefetch(
                manifest([origin.url("/icon")]), into: directory.path("cache")
            ) {
                $0.logger = log.logger
                $0.retry.base = .milliseconds(1)
            }
        }
        #expect(log.messages("resuming a body").map { $0["offset"] } == ["100000"])
    }
}
