import Foundation
import LarderCache
import LarderHTTP
import LarderTestSupport
import Testing

@testable import LarderPrefetch

/// Responses selected by request header fields (Vary).
@Suite(.timeLimit(.minutes(30))) struct VariantTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    /// Returns an origin with a different icon for each User-Agent. All have the same date.
    private func origin(vary: [String], etag: String? = nil) throws -> Origin {
        let origin = try Origin()
        origin.on("/a") { request in
            let agent = request.header("User-Agent") ?? ""
            let tag = etag ?? "\"\(agent)\""
            var reply =
                request.header("If-None-Match") == tag
                ? Reply.notModified : .ok(IconPainter.png(seed: agent.count))
            for value in vary { reply = reply.header("Vary", value) }
            return reply.header("ETag", tag).header("Last-Modified", Self.date)
                .header("Cache-Control", "max-age=3600")
        }
        return origin
    }

    /// Returns the outcomes of one run per User-Agent.
    private func outcomes(
        _ origin: Origin, _ cache: String, agents: String...,
        revalidation: Revalidation = .stale
    ) async throws -> [EntryResult.Outcome] {
        var outcomes: [EntryResult.Outcome] = []
        for agent in agents {
            let (_, results) = try await prefetch(manifest([origin.url("/a")]), into: cache) {
                $0.transfer.userAgent = agent
                $0.policy.revalidation = revalidation
            }
            outcomes += results.map(\.outcome)
        }
        return outcomes
    }

    private func bytes(_ origin: Origin, _ cache: String) throws -> [UInt8] {
        let cache = try Cache.open(at: cache)
        return try cache.bytes(of: #require(try cache.resource(origin.url("/a"))).object)
    }

    @Test(arguments: [
        ["User-Agent"], ["user-agent"], ["Foo, User-Agent"], ["Accept", "User-Agent"],
        ["Accept-Encoding, User-Agent"],
    ])
    func anotherVariantIsRequested(_ vary: [String]) async throws {
        let origin = try origin(vary: vary)
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let outcomes = try await outcomes(
                origin, cache, agents: "one", "one", "other", "other")
            #expect(outcomes == [.fetched, .cached, .fetched, .cached])
            #expect(try bytes(origin, cache) == IconPainter.png(seed: 5))
            // The date of the stored variant is not sent, because it would match the other variant,
            // too.
            let last = try #require(origin.requests.last)
            #expect(last.header("If-None-Match") == "\"one\"")
            #expect(last.header("If-Modified-Since") == nil)
        }
    }

    /// Both variants have the same ETag, so they have the same bytes.
    @Test func a304WithAMatchingETagConfirmsAnotherVariant() async throws {
        let origin = try origin(vary: ["User-Agent"], etag: "\"all\"")
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let outcomes = try await outcomes(origin, cache, agents: "one", "other", "other", "one")
            #expect(outcomes == [.fetched, .revalidated, .cached, .revalidated])
            #expect(try bytes(origin, cache) == IconPainter.png(seed: 3))
        }
    }

    /// Codings are removed before storing. Header fields that are never sent cannot differ.
    @Test(arguments: [[], ["Accept-Encoding"], ["Accept"], ["Foo, Cookie"]])
    func aVaryOnUnchangedFieldsSelectsNoOtherVariant(_ vary: [String]) async throws {
        let origin = try origin(vary: vary)
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let outcomes = try await outcomes(origin, cache, agents: "one", "other")
            #expect(outcomes == [.fetched, .cached])
        }
    }

    @Test(arguments: [["*"], ["Accept, *"], ["Accept", "*"], [", *"]])
    func aVaryStarResponseIsAlwaysRevalidated(_ vary: [String]) async throws {
        let origin = try origin(vary: vary)
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let outcomes = try await outcomes(origin, cache, agents: "one", "one", "one")
            #expect(outcomes == [.fetched, .revalidated, .revalidated])
            #expect(origin.requests.allSatisfy { $0.header("If-Modified-Since") == nil })
        }
    }

    @Test func revalidatingNeverOverridesVary() async throws {
        let origin = try origin(vary: ["*, User-Agent"])
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            var outcomes = try await outcomes(origin, cache, agents: "one")
            outcomes += try await self.outcomes(
                origin, cache, agents: "other", revalidation: .never)
            #expect(outcomes == [.fetched, .cached])
        }
    }

    @Test func aPlanComparesTheFieldsThatWouldBeSent() async throws {
        let origin = try origin(vary: ["User-Agent"])
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            _ = try await outcomes(origin, path, agents: "one")
            let cache = try Cache.open(at: path)
            for (agent, stale) in [("one", 0), ("other", 1)] {
                var transfer = TransferConfiguration()
                transfer.userAgent = agent
                let planner = Planner(cache: cache, headers: RequestHeaders(for: transfer))
                let text = Array(manifest([origin.url("/a")]).utf8)
                let summary = try planner.plan([.bytes(text, name: "test")]) { _ in }
                #expect(summary.stale == stale)
            }
        }
    }

    /// A header field can hold a credential.
    @Test func valuesOfSelectingFieldsAreNotStored() async throws {
        let origin = try origin(vary: ["User-Agent"], etag: "\"all\"")
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            _ = try await outcomes(origin, cache, agents: "agent-with-a-secret")
            for name in try FileManager.default.subpathsOfDirectory(atPath: cache) {
                let bytes = FileManager.default.contents(atPath: "\(cache)/\(name)") ?? Data()
                #expect(bytes.range(of: Data("with-a-secret".utf8)) == nil, "\(name)")
            }
        }
    }
}
