import LarderCache
import LarderPrefetch
import LarderTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct ConditionalRequestTests {
    private static let icon = IconPainter.png(seed: 1)
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    /// Prefetches `/a` the given number of times and returns the outcomes.
    private func outcomes(
        _ times: Int, of origin: Origin, into cache: String,
        configure: (inout PrefetchConfiguration) -> Void = { _ in }
    ) async throws -> [EntryResult.Outcome] {
        var outcomes: [EntryResult.Outcome] = []
        for _ in 0..<times {
            let (_, results) = try await prefetch(
                manifest([origin.url("/a")]), into: cache, configure: configure)
            outcomes += results.map(\.outcome)
        }
        return outcomes
    }

    private func resource(_ origin: Origin, _ cache: String) throws -> Resource {
        try #require(try Cache.open(at: cache).resource(origin.url("/a")))
    }

    // MARK: The request

    @Test(arguments: [
        ([("ETag", "\"1\"")], "\"1\"", nil),
        ([("ETag", "W/\"1\"")], "W/\"1\"", nil),
        ([("Last-Modified", date)], nil, date),
        ([("ETag", "\"1\""), ("Last-Modified", date)], "\"1\"", date),
        ([("ETag", "\"1\""), ("Last-Modified", "yesterday")], "\"1\"", nil),
        ([("Last-Modified", "0")], nil, nil),
        ([], nil, nil),
    ])
    func aRevalidationSendsEveryValidValidator(
        _ fields: [(String, String)], _ etag: String?, _ date: String?
    ) async throws {
        let origin = try Origin()
        origin.on(
            "/a",
            fields.reduce(.ok(Self.icon).header("Cache-Control", "no-cache")) {
                $0.header($1.0, $1.1)
            })
        try await withTemporaryDirectory { directory in
            _ = try await outcomes(2, of: origin, into: directory.path("cache"))
            let requests = origin.requests
            #expect(requests.count == 2)
            #expect(requests[0].header("If-None-Match") == nil)
            #expect(requests[0].header("If-Modified-Since") == nil)
            #expect(requests[1].header("If-None-Match") == etag)
            #expect(requests[1].header("If-Modified-Since") == date)
            #expect(requests.allSatisfy { $0.header("Cache-Control") == nil })
        }
    }

    /// The stored validators belong to the previous URL of the key.
    @Test func aNewURLOfAKeyIsRequestedUnconditionally() async throws {
        let origin = try Origin()
        for path in ["/a", "/b"] {
            origin.on(
                path,
                .ok(Self.icon).header("Cache-Control", "no-cache").header("ETag", "\"1\""))
        }
        try await withTemporaryDirectory { directory in
            for path in ["/a", "/a", "/b", "/b"] {
                let entry = #"[{"key": "k", "icon": "\#(origin.url(path))"}]"#
                _ = try await prefetch(entry, into: directory.path("cache"))
            }
            let asked = origin.requests.map { $0.header("If-None-Match") }
            #expect(asked == [nil, "\"1\"", nil, "\"1\""])
        }
    }

    // MARK: The 304

    /// Fields of a 304 replace the stored ones. Other stored fields stay (RFC 9111, section 3.2).
    @Test(arguments: [
        // The stored fields, the fields of the 304, and whether the third run finds the icon fresh.
        ([("Cache-Control", "max-age=0")], [("Cache-Control", "max-age=3600")], true),
        ([("Cache-Control", "max-age=0")], [], false),
        ([("Cache-Control", "max-age=0")], [("Expires", "Tue, 19 Jan 2038 14:14:08 GMT")], false),
        ([("Expires", "0")], [("Expires", "Tue, 19 Jan 2038 14:14:08 GMT")], true),
        ([("Expires", "0")], [("Cache-Control", "max-age=3600")], true),
        ([("Cache-Control", "max-age=3600"), ("Age", "7200")], [], true),
        ([("Cache-Control", "max-age=3600"), ("Age", "7200")], [("Age", "7200")], false),
        ([("Cache-Control", "max-age=3600"), ("Date", date)], [], true),
        ([("Cache-Control", "max-age=3600"), ("Vary", "*")], [], false),
        ([("Cache-Control", "max-age=3600"), ("Vary", "*")], [("Vary", "Accept")], true),
        ([("Cache-Control", "no-cache")], [("Cache-Control", "max-age=3600")], true),
        ([("Cache-Control", "max-age=0")], [("Cache-Control", "max-age=3600, no-store")], false),
    ])
    func a304UpdatesTheStoredFields(
        _ stored: [(String, String)], _ answer: [(String, String)], _ isFresh: Bool
    ) async throws {
        let origin = try Origin()
        origin.on("/a") { request in
            let reply: Reply =
                request.header("If-None-Match") == nil
                ? .ok(Self.icon).header("ETag", "\"1\"") : .notModified
            return (request.attempt == 1 ? stored : answer).reduce(reply) {
                $0.header($1.0, $1.1)
            }
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let outcomes = try await outcomes(3, of: origin, into: cache)
            #expect(outcomes == [.fetched, .revalidated, isFresh ? .cached : .revalidated])
            #expect(try resource(origin, cache).validators.etag == "\"1\"")
        }
    }

    /// Such a 304 confirms the bytes, but none of its fields may be stored.
    @Test func aNoStore304KeepsTheStoredFields() async throws {
        let origin = try Origin()
        origin.on("/a") { request in
            request.header("If-None-Match") == nil
                ? .ok(Self.icon).header("ETag", "\"1\"").header("Cache-Control", "max-age=0")
                : .notModified.header("Cache-Control", "no-store, max-age=60")
                    .header("ETag", "W/\"1\"").header("Expires", "0")
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            _ = try await outcomes(1, of: origin, into: cache)
            let before = try resource(origin, cache)
            #expect(try await outcomes(1, of: origin, into: cache) == [.revalidated])
            let after = try resource(origin, cache)
            #expect(after.validators == before.validators)
            #expect(after.receivedAt == before.receivedAt)
            #expect(after.freshUntil == before.freshUntil)
        }
    }

    /// A 304 for another version does not confirm the cached one (RFC 9111, section 4.3.4).
    @Test(arguments: ["\"2\"", "W/\"2\""])
    func a304WithAnotherETagIsRetriedUnconditionally(_ etag: String) async throws {
        let origin = try Origin()
        let new = IconPainter.png(seed: 2)
        origin.on("/a") { request in
            if request.attempt == 1 {
                return .ok(Self.icon).header("ETag", "\"1\"").header("Cache-Control", "no-cache")
            }
            let reply: Reply =
                request.header("If-None-Match") == nil ? .ok(new) : .notModified
            return reply.header("ETag", etag).header("Cache-Control", "no-cache")
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            #expect(try await outcomes(2, of: origin, into: cache) == [.fetched, .fetched])
            #expect(
                origin.requests.map { $0.header("If-None-Match") } == [nil, "\"1\"", nil])
            let resource = try resource(origin, cache)
            #expect(resource.validators.etag == etag)
            #expect(try Cache.open(at: cache).bytes(of: resource.object) == new)
        }
    }

    @Test func a304WithAnotherETagFailsOnTheLastAttempt() async throws {
        let origin = try Origin()
        origin.on("/a") { request in
            request.header("If-None-Match") == nil
                ? .ok(Self.icon).header("ETag", "\"1\"").header("Cache-Control", "no-cache")
                : .notModified.header("ETag", "\"2\"")
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            _ = try await outcomes(1, of: origin, into: cache)
            let (report, _) = try await prefetch(manifest([origin.url("/a")]), into: cache) {
                $0.retry.attempts = 1
            }
            #expect(report.failures == ["validator-mismatch": 1])
            #expect(try resource(origin, cache).validators.etag == "\"1\"")
        }
    }

    @Test func a304ToAnUnconditionalRequestIsAFailure() async throws {
        let origin = try Origin()
        origin.on("/a") { $0.attempt == 1 ? .ok(Self.icon).header("Expires", "0") : .notModified }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            _ = try await outcomes(1, of: origin, into: cache)
            let (report, _) = try await prefetch(manifest([origin.url("/a")]), into: cache)
            #expect(report.failures == ["http-304": 1])
        }
    }

    // MARK: --revalidate

    @Test func revalidatingAlwaysRequestsFreshIconsToo() async throws {
        let origin = try Origin()
        origin.on("/a") { request in
            request.header("If-None-Match") == nil
                ? .ok(Self.icon).header("ETag", "\"1\"").header("Cache-Control", "max-age=3600")
                : .notModified
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            #expect(try await outcomes(2, of: origin, into: cache) == [.fetched, .cached])
            let always = try await outcomes(2, of: origin, into: cache) {
                $0.policy.revalidation = .always
            }
            #expect(always == [.revalidated, .revalidated])
            // `max-age=0` makes intermediate caches revalidate. They may keep their copies.
            #expect(
                origin.requests.map { $0.header("Cache-Control") }
                    == [nil, "max-age=0", "max-age=0"])
        }
    }

    @Test(arguments: [
        ("max-age=3600, immutable", Revalidation.stale, EntryResult.Outcome.cached),
        ("max-age=3600, immutable", .always, .cached),
        ("max-age=0, immutable", .always, .fetched), ("max-age=0, immutable", .stale, .fetched),
        ("max-age=3600, must-revalidate", .stale, .cached),
        ("max-age=0, must-revalidate", .stale, .fetched),
        ("max-age=0, must-revalidate", .never, .cached), ("no-cache", .never, .cached),
        ("max-age=0", .never, .cached),
    ])
    func revalidationDependsOnThePolicyAndTheDirectives(
        _ directives: String, _ revalidation: Revalidation, _ outcome: EntryResult.Outcome
    ) async throws {
        let origin = try Origin()
        origin.on("/a", .ok(Self.icon).header("Cache-Control", directives))
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let outcomes = try await outcomes(2, of: origin, into: cache) {
                $0.policy.revalidation = revalidation
            }
            #expect(outcomes == [.fetched, outcome])
        }
    }

    // MARK: Storable responses

    @Test(arguments: [204, 299, 400, 403, 404, 405, 410, 414, 499, 501, 505])
    func otherStatusesAreNotStoredEvenWithMaxAge(_ status: Int) async throws {
        let origin = try Origin()
        origin.on(
            "/a", .ok(Self.icon).status(status).header("Cache-Control", "max-age=3600"))
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let outcomes = try await outcomes(2, of: origin, into: cache) {
                $0.policy.failureLifetime = .zero
            }
            #expect(outcomes == [.failed, .failed])
            #expect(origin.count() == 2)
            #expect(try Cache.open(at: cache).status().totals.resources == 0)
        }
    }

    @Test func aTransformedResponseIsStored() async throws {
        let origin = try Origin()
        origin.on("/a", .ok(Self.icon).status(203).header("Cache-Control", "max-age=3600"))
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let outcomes = try await outcomes(2, of: origin, into: cache)
            #expect(outcomes == [.fetched, .cached])
        }
    }

    /// An interim response is not cached, and its fields do not apply to the final response.
    @Test(arguments: [102, 103])
    func interimResponsesAreIgnored(_ status: Int) async throws {
        let origin = try Origin()
        let head = """
            HTTP/1.1 \(status) Interim\r\nETag: "interim"\r\nCache-Control: no-store\r\n\r\n\
            HTTP/1.1 200 OK\r\nContent-Length: \(Self.icon.count)\r\n\
            Cache-Control: max-age=3600\r\n\r\n
            """
        origin.on("/a", .raw(Array(head.utf8) + Self.icon))
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let outcomes = try await outcomes(2, of: origin, into: cache)
            #expect(outcomes == [.fetched, .cached])
            #expect(try resource(origin, cache).validators.etag == nil)
        }
    }

    @Test func aResponseWithACookieIsStored() async throws {
        let origin = try Origin()
        origin.on(
            "/a",
            .ok(Self.icon).header("Cache-Control", "max-age=3600").header("Set-Cookie", "a=b"))
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let outcomes = try await outcomes(2, of: origin, into: cache)
            #expect(outcomes == [.fetched, .cached])
        }
    }

    @Test func urlsWithDifferentQueriesAreDifferentResources() async throws {
        let origin = try Origin()
        origin.on("/a?1", .ok(Self.icon).header("Cache-Control", "max-age=3600"))
        origin.on("/a?2", .ok(IconPainter.png(seed: 2)).header("Cache-Control", "max-age=3600"))
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            for outcome in [EntryResult.Outcome.fetched, .cached] {
                let (report, results) = try await prefetch(
                    manifest([origin.url("/a?1"), origin.url("/a?2")]), into: cache)
                #expect(report.count(outcome) == 2)
                #expect(Set(results.map(\.digest)).count == 2)
            }
        }
    }

    /// `stale-if-error` and `stale-while-revalidate` do not hide the failure.
    @Test(arguments: [Reply.status(503), .ok(icon).reset(after: 0)])
    func aFailedRevalidationKeepsTheStoredResponse(_ reply: Reply) async throws {
        let origin = try Origin()
        origin.on(
            "/a",
            .ok(Self.icon).header("ETag", "\"1\"").header(
                "Cache-Control", "max-age=0, stale-if-error=60, stale-while-revalidate=60"))
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            _ = try await outcomes(1, of: origin, into: cache)
            let before = try resource(origin, cache)
            origin.on("/a", reply)
            let outcomes = try await outcomes(1, of: origin, into: cache) { $0.retry.attempts = 1 }
            #expect(outcomes == [.failed])
            #expect(try resource(origin, cache).validators == before.validators)
            #expect(try Cache.open(at: cache).bytes(of: before.object) == Self.icon)
        }
    }
}
