import LarderTestSupport
import Testing

/// The retries of a failed request, and the number of attempts.
@Suite struct AttemptsTests {
    @Test func aRequestIsRetriedUntilTheServerRecovers() async throws {
        try await withFixture { larder in
            larder.origin.on("/a") { $0.attempt < 3 ? .status(502) : Icons.reply(1) }
            let run = try larder.prefetch(try larder.manifest(larder.origin.url("/a")))
            #expect(run.status == 0)
            #expect(run.outcomes == ["fetched"])
            #expect(try run.line(1).attempts == 3)
            #expect(larder.origin.count() == 3)
        }
    }

    @Test(arguments: [
        (Reply.status(500), 3), (.status(502), 3), (.status(504), 3), (.status(408), 3),
        (.status(501), 1), (.status(404), 1), (.status(403), 1), (.status(410), 1),
        (.ok("text"), 1), (.ok(Icons.png).cut(after: 20), 3), (.ok(Icons.png).reset(after: 0), 3),
    ])
    func onlyTransientFailuresAreRetried(_ reply: Reply, _ attempts: Int) async throws {
        try await withFixture { larder in
            larder.origin.on("/a", reply)
            let run = try larder.prefetch(
                try larder.manifest(larder.origin.url("/a")), options: ["--attempts", "3"])
            #expect(run.status == 2)
            #expect(try run.line(1).attempts == attempts, "\(run.finished)")
            #expect(larder.origin.count() == attempts)
        }
    }

    @Test func aRefusedConnectionIsRetried() async throws {
        try await withFixture { larder in
            let url = "http://127.0.0.1:\(try Origin.refusedPort())/a"
            let run = try larder.prefetch(try larder.manifest(url), options: ["--attempts", "4"])
            #expect(try run.line(1).attempts == 4)
            #expect(try run.line(1).error?.code == "connection-refused")
        }
    }

    /// A redirect is followed again in each attempt, and does not count as an attempt.
    @Test func eachAttemptStartsAtTheManifestURL() async throws {
        try await withFixture { larder in
            larder.origin.on("/a", .redirect(to: "/b"))
            larder.origin.on("/b") { $0.attempt < 2 ? .status(502) : Icons.reply(1) }
            let run = try larder.prefetch(try larder.manifest(larder.origin.url("/a")))
            #expect(try run.line(1).attempts == 2)
            #expect(larder.origin.requests.map(\.path) == ["/a", "/b", "/a", "/b"])
        }
    }
}
