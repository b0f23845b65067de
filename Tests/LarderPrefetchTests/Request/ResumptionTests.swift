import Foundation
import LarderCache
import LarderHTTP
import LarderPrefetch
import LarderTestSupport
import Testing

@Suite struct ResumptionTests {
    /// 196 kB, three times the memory limit of a body.
    private func icon(_ seed: Int) -> [UInt8] { IconPainter.largeBMP(seed: seed, bytes: 196_000) }

    private let quickRetries: RetryPolicy = {
        var policy = RetryPolicy()
        policy.base = .milliseconds(1)
        return policy
    }()

    private func stored(_ url: String, in cache: String) throws -> [UInt8] {
        let cache = try Cache.open(at: cache)
        return try cache.bytes(of: try #require(try cache.resource(url)).object)
    }

    private func partials(in cache: String) throws -> [String] {
        let directory = "\(cache)/tmp/partial"
        guard FileManager.default.fileExists(atPath: directory) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: directory)
    }

    private static func flipByte(of path: String, at offset: UInt64) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: offset)
        let byte = try #require(try file.read(upToCount: 1)?.first)
        try file.seek(toOffset: offset)
        try file.write(contentsOf: [byte ^ 1])
    }

    @Test func bodiesCutAtAnyByteAreCompletedCorrectly() async throws {
        let origin = try Origin()
        var random = Pseudorandom(seed: 7)
        let cuts = (0..<50).map { _ in Int.random(in: 1..<196_000, using: &random) }
        // Five icons for fifty URLs, because painting takes most of the time.
        let painted = (0..<5).map(icon)
        let icons = (0..<50).map { painted[$0 % 5] }
        origin.onAny { request in
            guard let number = Int(request.path.dropFirst()) else { return nil }
            let reply = Reply.ranged(icons[number], tag: "\"\(number)\"", for: request)
            guard request.attempt == 1 else { return reply }
            return number % 2 == 0
                ? reply.cut(after: cuts[number]) : reply.reset(after: cuts[number])
        }
        try await withTemporaryDirectory { directory in
            let urls = icons.indices.map { origin.url("/\($0)") }
            let (report, _) = try await prefetch(manifest(urls), into: directory.path("cache")) {
                $0.retry = quickRetries
            }
            #expect(report.count(.fetched) == 50)
            for (number, url) in urls.enumerated() {
                #expect(try stored(url, in: directory.path("cache")) == icons[number])
                #expect(origin.count("/\(number)") == 2)
            }
            // A reset can lose bytes in transit, so the range may start before the cut or be absent.
            let seconds = origin.requests.filter { $0.attempt == 2 }
            for request in seconds {
                let cut = cuts[Int(request.path.dropFirst()) ?? 0]
                guard let range = request.header("Range") else { continue }
                let first = Int(range.dropFirst(6).dropLast()) ?? 0
                #expect(first > StagedBody.memoryLimit && first <= cut)
                #expect(request.header("If-Range") == "\"\(request.path.dropFirst())\"")
            }
            let longCuts = cuts.enumerated().filter { $0.offset % 2 == 0 && $0.element > 65_536 }
            for (number, cut) in longCuts {
                let request = try #require(seconds.first { $0.path == "/\(number)" })
                #expect(request.header("Range") == "bytes=\(cut)-")
            }
            #expect(longCuts.count > 10)
            #expect(try Cache.open(at: directory.path("cache")).verify().isClean)
        }
    }

    @Test func aBodyThatIsCutRepeatedlyIsResumedEachTime() async throws {
        let origin = try Origin()
        let icon = icon(1)
        origin.onAny { request in
            let reply = Reply.ranged(icon, tag: "\"1\"", for: request)
            return request.attempt < 5
                ? reply.cut(after: request.attempt == 1 ? 70_000 : 30_000) : reply
        }
        try await withTemporaryDirectory { directory in
            let (report, _) = try await prefetch(
                manifest([origin.url("/a")]), into: directory.path("cache")
            ) { $0.retry = quickRetries }
            #expect(report.count(.fetched) == 1)
            #expect(try stored(origin.url("/a"), in: directory.path("cache")) == icon)
            #expect(
                origin.requests.map { $0.header("Range") } == [
                    nil, "bytes=70000-", "bytes=100000-", "bytes=130000-", "bytes=160000-",
                ])
        }
    }

    @Test func aLaterRunResumesAnInterruptedBody() async throws {
        let origin = try Origin()
        let icon = icon(2)
        origin.onAny { request in
            let reply = Reply.ranged(icon, tag: "\"1\"", for: request)
            return request.attempt == 1 ? reply.cut(after: 100_000) : reply
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let text = manifest([origin.url("/a")])
            let first = try await prefetch(text, into: cache) { $0.retry.attempts = 1 }
            #expect(first.report.failures == ["body-truncated": 1])
            let status = try Cache.open(at: cache).status()
            // A partial body is neither an object nor a leftover file.
            #expect(status.totals.objects == 0)
            #expect(status.temporaries == 0)
            #expect(try Cache.open(at: cache).verify().findings.isEmpty)

            let second = try await prefetch(text, into: cache)
            #expect(second.report.count(.fetched) == 1)
            #expect(second.report.receivedBytes == Int64(icon.count - 100_000))
            #expect(origin.requests.last?.header("Range") == "bytes=100000-")
            #expect(try stored(origin.url("/a"), in: cache) == icon)
            #expect(try partials(in: cache).isEmpty)
        }
    }

    @Test func aLaterRunResumesTheBodyOfACancelledRun() async throws {
        let origin = try Origin()
        let icon = icon(3)
        origin.onAny { request in
            let reply = Reply.ranged(icon, tag: "\"1\"", for: request)
            return request.attempt == 1 ? reply.stalling(after: 100_000) : reply
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            var configuration = PrefetchConfiguration(cache: cache)
            configuration.transfer.addressPolicy = .allowAll
            configuration.grace = .zero
            let prefetcher = Prefetcher(configuration)
            let text = manifest([origin.url("/a")])
            for try await event in prefetcher.prefetch([.bytes(Array(text.utf8), name: "test")]) {
                if case .progress(let progress) = event, progress.receivedBytes == 100_000 {
                    prefetcher.cancel()
                }
            }
            #expect(try await prefetch(text, into: cache).report.count(.fetched) == 1)
            #expect(origin.requests.last?.header("Range") == "bytes=100000-")
            #expect(try stored(origin.url("/a"), in: cache) == icon)
        }
    }

    /// A correct server sends the complete new body. A wrong server sends a part of it.
    @Test(arguments: [false, true])
    func aNewVersionIsFetchedFromTheStart(ignoresIfRange: Bool) async throws {
        let origin = try Origin()
        let (old, new) = (icon(4), icon(5))
        origin.onAny { request in
            request.attempt == 1
                ? Reply.ranged(old, tag: "\"old\"", for: request).cut(after: 100_000)
                : Reply.ranged(new, tag: "\"new\"", for: request, ignoresIfRange: ignoresIfRange)
        }
        try await withTemporaryDirectory { directory in
            let (report, _) = try await prefetch(
                manifest([origin.url("/a")]), into: directory.path("cache")
            ) { $0.retry = quickRetries }
            #expect(report.count(.fetched) == 1)
            #expect(try stored(origin.url("/a"), in: directory.path("cache")) == new)
            #expect(origin.requests[1].header("Range") == "bytes=100000-")
            #expect(origin.count() == (ignoresIfRange ? 3 : 2))
            #expect(
                origin.requests.last?.header("Range") == (ignoresIfRange ? nil : "bytes=100000-"))
        }
    }

    /// The response has the requested bytes, but a Content-Range that does not say so.
    @Test(arguments: [
        "bytes 99999-196661/196662", "bytes 100001-196661/196662", "bytes 100000-196661/999999",
        "bytes */196662", "items 100000-196661/196662", "bytes 100000-196661/*", "",
    ])
    func aMismatchedContentRangeRestartsTheBody(range: String) async throws {
        let origin = try Origin()
        let icon = icon(6)
        origin.onAny { request in
            let whole = Reply.ranged(icon, tag: "\"1\"", for: request)
            if request.attempt == 1 { return whole.cut(after: 100_000) }
            guard request.header("Range") != nil else { return whole }
            return .ok(icon[100_000...]).status(206).header("ETag", "\"1\"")
                .header("Content-Range", range)
        }
        try await withTemporaryDirectory { directory in
            let (report, _) = try await prefetch(
                manifest([origin.url("/a")]), into: directory.path("cache")
            ) { $0.retry = quickRetries }
            #expect(report.count(.fetched) == 1)
            #expect(try stored(origin.url("/a"), in: directory.path("cache")) == icon)
            #expect(origin.requests.map { $0.header("Range") } == [nil, "bytes=100000-", nil])
        }
    }

    /// Without these fields, the rest may be from another version.
    @Test(arguments: [
        ["ETag": "W/\"1\"", "Accept-Ranges": "bytes"], ["Accept-Ranges": "bytes"],
        ["ETag": "\"1\""], ["ETag": "\"1\"", "Accept-Ranges": "none"],
    ])
    func withoutAStrongValidatorOrRangesABodyRestarts(_ fields: [String: String]) async throws {
        let origin = try Origin()
        let icon = icon(7)
        origin.onAny { request in
            let reply = fields.reduce(Reply.ok(icon)) { $0.header($1.key, $1.value) }
            return request.attempt == 1
                ? reply.cut(after: 100_000) : .ok(icon)
        }
        try await withTemporaryDirectory { directory in
            _ = try await prefetch(
                manifest([origin.url("/a")]), into: directory.path("cache")
            ) { $0.retry = quickRetries }
            #expect(origin.requests.allSatisfy { $0.header("Range") == nil })
        }
    }

    /// Offsets in the decoded body differ from offsets in the encoded one.
    @Test func anInterruptedEncodedBodyRestarts() async throws {
        let origin = try Origin()
        let icon = icon(10)
        let encoded = Reply.deflated(icon)
            .header("ETag", "\"1\"").header("Accept-Ranges", "bytes")
        origin.onAny { request in
            request.attempt == 1 ? encoded.cut(after: encoded.bodyLength - 10) : encoded
        }
        try await withTemporaryDirectory { directory in
            let (report, _) = try await prefetch(
                manifest([origin.url("/a")]), into: directory.path("cache")
            ) { $0.retry = quickRetries }
            #expect(report.count(.fetched) == 1)
            #expect(report.receivedBytes > 65_536 + icon.count)
            #expect(try stored(origin.url("/a"), in: directory.path("cache")) == icon)
            #expect(origin.requests.map { $0.header("Range") } == [nil, nil])
        }
    }

    @Test func aPartialNoStoreBodyIsNotKept() async throws {
        let origin = try Origin()
        let icon = icon(11)
        origin.onAny { request in
            Reply.ranged(icon, tag: "\"1\"", for: request)
                .header("Cache-Control", "no-store").cut(after: 100_000)
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let text = manifest([origin.url("/a")])
            _ = try await prefetch(text, into: cache) { $0.retry.attempts = 1 }
            #expect(try partials(in: cache).isEmpty)
            _ = try await prefetch(text, into: cache) {
                $0.retry.attempts = 1
                $0.storesUnstorable = true
            }
            #expect(try partials(in: cache).count == 1)
        }
    }

    /// A response to If-Range may omit the other fields (RFC 9110, section 15.3.7).
    @Test func aResumedBodyKeepsTheFieldsOfItsFirstResponse() async throws {
        let origin = try Origin()
        let icon = icon(12)
        let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
        origin.onAny { request in
            let reply = Reply.ranged(icon, tag: "\"1\"", for: request)
            return request.attempt == 1
                ? reply.header("Last-Modified", modified).cut(after: 100_000) : reply
        }
        try await withTemporaryDirectory { directory in
            _ = try await prefetch(
                manifest([origin.url("/a")]), into: directory.path("cache")
            ) { $0.retry = quickRetries }
            #expect(origin.requests.last?.header("Range") == "bytes=100000-")
            let cache = try Cache.open(at: directory.path("cache"))
            let validators = try #require(try cache.resource(origin.url("/a"))).validators
            #expect(validators.lastModified == modified)
            #expect(validators.etag == "\"1\"")
        }
    }

    @Test func partialBodiesOlderThanAWeekAreRemoved() async throws {
        let origin = try Origin()
        let icon = icon(13)
        origin.onAny { Reply.ranged(icon, tag: "\"1\"", for: $0).cut(after: 100_000) }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            _ = try await prefetch(manifest([origin.url("/a")]), into: cache) {
                $0.retry.attempts = 1
            }
            let name = try #require(try partials(in: cache).first)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -8 * 86_400)],
                ofItemAtPath: "\(cache)/tmp/partial/\(name)")
            _ = try await prefetch("[]", into: cache)
            #expect(try partials(in: cache).isEmpty)
        }
    }

    @Test func aDamagedPartialBodyIsNotResumed() async throws {
        let origin = try Origin()
        let icon = icon(8)
        origin.onAny { request in
            let reply = Reply.ranged(icon, tag: "\"1\"", for: request)
            return request.attempt == 1 ? reply.cut(after: 100_000) : reply
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let text = manifest([origin.url("/a")])
            _ = try await prefetch(text, into: cache) { $0.retry.attempts = 1 }
            // After a power cut, a file can have the right length and wrong bytes.
            let partial = try #require(try partials(in: cache).first)
            try Self.flipByte(of: "\(cache)/tmp/partial/\(partial)", at: 50_000)
            #expect(try await prefetch(text, into: cache).report.count(.fetched) == 1)
            #expect(origin.requests.allSatisfy { $0.header("Range") == nil })
            #expect(try stored(origin.url("/a"), in: cache) == icon)
        }
    }

    @Test func aPartialBodyOfATooLargeObjectFails() async throws {
        let origin = try Origin()
        let icon = icon(9)
        origin.onAny { request in
            let reply = Reply.ranged(icon, tag: "\"1\"", for: request)
            return request.attempt == 1 ? reply.cut(after: 100_000) : reply
        }
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            let text = manifest([origin.url("/a")])
            _ = try await prefetch(text, into: cache) { $0.retry.attempts = 1 }
            let (report, _) = try await prefetch(text, into: cache) {
                $0.maximumObjectBytes = 150_000
            }
            #expect(report.failures == ["too-large": 1])
        }
    }
}
