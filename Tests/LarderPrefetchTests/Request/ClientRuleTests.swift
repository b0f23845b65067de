import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import LarderPrefetch
import LarderTestSupport
import LarderTestTLS
import Testing

/// Prefetches from origins with unusual responses.
@Suite(.timeLimit(.minutes(30))) struct ClientRuleTests {
    let origin: Origin

    init() throws { origin = try Origin() }

    private static let icon = IconPainter.png(seed: 1)

    private func fetch(
        _ paths: [String], attempts: Int = 1,
        configure: (inout PrefetchConfiguration) -> Void = { _ in }
    ) async throws -> [EntryResult] {
        try await fetch(text: manifest(paths.map { origin.url($0) }), attempts, configure)
    }

    private func fetch(
        text: String, _ attempts: Int = 1,
        _ configure: (inout PrefetchConfiguration) -> Void = { _ in }
    ) async throws -> [EntryResult] {
        try await withTemporaryDirectory { directory in
            try await prefetch(text, into: directory.path("cache")) {
                $0.maximumConcurrent = 1
                $0.retry.attempts = attempts
                $0.retry.base = .milliseconds(1)
                $0.retry.overloadBase = .milliseconds(1)
                $0.policy.failureLifetime = .zero
                configure(&$0)
            }.results
        }
    }

    // MARK: Repeated requests

    /// libcurl must not repeat a request on a reused connection by itself.
    @Test(arguments: [1, 2]) func aRequestWithALostConnectionCountsAsAnAttempt(
        attempts: Int
    ) async throws {
        origin.onAny { request in
            request.path == "/b" && request.attempt == 1
                ? Reply.raw("") : .ok(Self.icon)
        }
        let results = try await fetch(["/a", "/b"], attempts: attempts)
        #expect(origin.count("/b") == attempts)
        let last = try #require(results.first { $0.url == origin.url("/b") })
        #expect(last.attempts == attempts)
        #expect(last.failure?.code == (attempts == 1 ? "connection-lost" : nil))
    }

    /// libcurl must not repeat it by itself, although the server did not process it (RFC 9113,
    /// section 8.7).
    @Test(arguments: [1, 3]) func aRefusedStreamCountsAsAnAttemptAndForTheRate(
        attempts: Int
    ) async throws {
        origin.onAny { _ in .ok(Self.icon) }
        let front = try TLSFront(originPort: origin.port)
        defer { front.stop() }
        front.refuseStreams(path: "/a", count: 2)
        let start = ContinuousClock.now
        let results = try await fetch(text: manifest([front.url("/a")]), attempts) {
            $0.ratePerHost = 20
            $0.transfer.certificateAuthorities = TestCertificates.authorityPath
        }
        #expect(ContinuousClock.now - start >= .milliseconds(50 * (attempts - 1)))
        #expect(front.requestCount == attempts && front.protocols.allSatisfy { $0 == "h2" })
        let result = try #require(results.first)
        #expect(result.attempts == attempts)
        #expect(result.failure?.code == (attempts == 1 ? "connection-lost" : nil))
    }

    // MARK: Retry-After

    /// The server's clock is wrong. Its dates ask for a wait of two seconds, or of 100,000.
    @Test(arguments: [(-3600.0, 2.0, true), (3600, 2, true), (0, 100_000, false)])
    func aRetryAfterDateIsRelativeToTheServersClock(
        clock: Double, delay: Double, isFetched: Bool
    ) async throws {
        let sent = Date(timeIntervalSinceNow: clock)
        let until = HTTPDate.string(from: sent.addingTimeInterval(delay))
        origin.onAny { request in
            request.attempt == 1
                ? Reply.status(429).withoutDate().header("Date", HTTPDate.string(from: sent))
                    .header("Retry-After", until)
                : .ok(Self.icon)
        }
        let results = try await fetch(["/a"], attempts: 2)
        #expect(results.map(\.outcome) == [isFetched ? .fetched : .failed])
        let arrivals = origin.requests.map(\.arrival)
        // Dates have whole seconds.
        if isFetched { #expect(arrivals[1] - arrivals[0] >= .seconds(delay - 1)) }
    }

    // MARK: Cookies

    /// Some servers set a cookie and redirect to the same URL until a request has the cookie.
    @Test func aRedirectChainSendsItsCookies() async throws {
        origin.onAny { request in
            request.header("Cookie")?.contains("seen=1") == true
                ? .ok(Self.icon)
                : Reply.redirect(to: request.target).header("Set-Cookie", "seen=1; Path=/")
        }
        let results = try await fetch(["/a", "/b"])
        #expect(results.map(\.outcome) == [.fetched, .fetched])
        // A chain of redirects does not have the cookies of another chain.
        for path in ["/a", "/b"] {
            let requests = origin.requests.filter { $0.path == path }
            #expect(requests.map { $0.header("Cookie") } == [nil, "seen=1"])
        }
    }

    @Test func cookiesAreSentOnlyToTheirHostAndPath() async throws {
        let other = try Origin()
        other.onAny { _ in .ok(Self.icon) }
        origin.on(
            "/host",
            Reply.redirect(to: other.url("/", host: "localhost"))
                .header("Set-Cookie", "a=1; Path=/"))
        origin.on("/path", Reply.redirect(to: "/x").header("Set-Cookie", "a=1; Path=/y"))
        origin.on("/x", .ok(Self.icon))
        let results = try await fetch(["/host", "/path"])
        #expect(results.map(\.outcome) == [.fetched, .fetched])
        let requests = origin.requests + other.requests
        #expect(requests.allSatisfy { $0.header("Cookie") == nil })
        #expect(requests.count == 4)
    }

    @Test(arguments: [("a.localhost", "a=1"), ("h2.a.localhost", nil), ("elsewhere.example", nil)])
    func aCookieForADomainOfAnotherHostIsRefused(domain: String, sent: String?) async throws {
        origin.on(
            "/1",
            Reply.redirect(to: origin.url("/2", host: "h2.a.localhost"))
                .header("Set-Cookie", "a=1; Path=/; Domain=\(domain)"))
        origin.on("/2", .ok(Self.icon))
        let results = try await fetch(text: manifest([origin.url("/1", host: "h1.a.localhost")]))
        #expect(results.map(\.outcome) == [.fetched])
        #expect(origin.requests.map { $0.header("Cookie") } == [nil, sent])
    }

    /// libcurl regards http to localhost as secure.
    @Test(arguments: [("elsewhere.example", nil), ("127.0.0.1", "a=1")])
    func aSecureCookieIsNotSentOverHTTP(host: String, sent: String?) async throws {
        let front = try TLSFront(
            originPort: origin.port, certificate: sent == nil ? .wrongName : .trusted)
        defer { front.stop() }
        origin.on(
            "/1",
            Reply.redirect(to: front.url("/2", host: host))
                .header("Set-Cookie", "a=1; Path=/; Secure"))
        origin.on("/2", .redirect(to: origin.url("/3", host: host)))
        origin.on("/3", .ok(Self.icon))
        let addresses = [front.port, origin.port].compactMap {
            ConnectToRule("\(host):\($0):127.0.0.1:\($0)")
        }
        let results = try await fetch(text: manifest([front.url("/1", host: host)])) {
            $0.allowsDowngrade = true
            $0.transfer.connectTo = addresses
            $0.transfer.certificateAuthorities = TestCertificates.authorityPath
        }
        #expect(results.map(\.outcome) == [.fetched])
        #expect(origin.requests.map { $0.header("Cookie") } == [nil, "a=1", sent])
    }

    @Test func aRedirectChainKeepsTheCookiesOfAllSteps() async throws {
        origin.on("/1", Reply.redirect(to: "/2").header("Set-Cookie", "a=1; Path=/"))
        origin.on("/2", Reply.redirect(to: "/3"))
        origin.on("/3", Reply.redirect(to: "/4").header("Set-Cookie", "b=2; Path=/"))
        origin.on("/4", Reply.redirect(to: "/5").header("Set-Cookie", "a=; Path=/; Max-Age=0"))
        origin.on("/5", .ok(Self.icon))
        #expect(try await fetch(["/1"]).map(\.outcome) == [.fetched])
        let sent = origin.requests.map {
            $0.header("Cookie")?.split(separator: "; ").sorted() ?? []
        }
        #expect(sent == [[], ["a=1"], ["a=1"], ["a=1", "b=2"], ["b=2"]])
    }

    @Test func tooManyCookiesDoNotDropTheCookieThatFits() async throws {
        let long = String(repeating: "x", count: 3_500)
        origin.onAny { request in
            if request.header("Cookie")?.contains("seen=1") == true { return .ok(Self.icon) }
            let reply = Reply.redirect(to: request.target).header("Set-Cookie", "seen=1; Path=/")
            return (1...5).reduce(reply) { $0.header("Set-Cookie", "n\($1)=\(long); Path=/other") }
        }
        #expect(try await fetch(["/a"]).map(\.outcome) == [.fetched])
    }

    /// A request has at most one Cookie field (RFC 6265, section 5.4).
    @Test func aUsersCookieIsSentWithTheCookiesOfTheChain() async throws {
        origin.on("/1", Reply.redirect(to: "/2").header("Set-Cookie", "a=1; Path=/"))
        origin.on("/2", .ok(Self.icon))
        let rule = try HeaderRule("Cookie: s=1")
        let results = try await fetch(["/1"]) { $0.headers = [rule] }
        #expect(results.map(\.outcome) == [.fetched])
        let sent = origin.requests.map {
            $0.header("Cookie")?.split(separator: "; ").sorted() ?? []
        }
        #expect(sent == [["s=1"], ["a=1", "s=1"]])
    }

    // MARK: Location

    @Test func anEmptyLocationRedirectsToTheSameURL() async throws {
        origin.onAny { request in
            request.attempt < 3 ? Reply.redirect(to: "") : .ok(Self.icon)
        }
        #expect(try await fetch(["/a"]).map(\.outcome) == [.fetched])
        #expect(origin.count("/a") == 3)
        origin.onAny { _ in Reply.redirect(to: "") }
        let failure = try #require(try await fetch(["/b"]).first?.failure)
        #expect(failure.code == "too-many-redirects")
    }

    // MARK: Content-Encoding

    @Test(
        arguments: ["UTF-8", "zip", "aws-chunked", "binary", "br", "UTF-8, identity"],
        [true, false])
    func anImageWithAnUnknownContentCodingIsAccepted(
        word: String, acceptsAnyContent: Bool
    ) async throws {
        origin.onAny { _ in Reply.ok(Self.icon).header("Content-Encoding", word) }
        let results = try await fetch(["/a"]) { $0.acceptsAnyContent = acceptsAnyContent }
        #expect(results.map(\.outcome) == [.fetched])
    }

    /// The body may be encoded, so it fails even if any content is accepted.
    @Test(arguments: ["br", "aws-chunked"], [true, false])
    func anUnknownContentCodingOfOtherContentFails(
        word: String, acceptsAnyContent: Bool
    ) async throws {
        origin.onAny { _ in Reply.ok("text").header("Content-Encoding", word) }
        let results = try await fetch(["/a"]) { $0.acceptsAnyContent = acceptsAnyContent }
        let failure = try #require(results.first?.failure)
        #expect(failure.code == "malformed-response")
        #expect(failure.message.contains("'\(word)'"))
    }

    /// A size does not prove that the body is not encoded, and a digest does not prove an image.
    @Test(arguments: [("sha256", true, true), ("sha256", false, false), ("size", true, false)])
    func anUnknownContentCodingOfAnyContentNeedsAMatchingDigest(
        key: String, acceptsAnyContent: Bool, isFetched: Bool
    ) async throws {
        origin.onAny { _ in Reply.ok("text").header("Content-Encoding", "br") }
        let digest = Digest(of: Array("text".utf8)).hex
        let value = key == "size" ? "4" : "\"\(digest)\""
        let text = #"[{"icon": "\#(origin.url("/a"))", "\#(key)": \#(value)}]"#
        let results = try await fetch(text: text) { $0.acceptsAnyContent = acceptsAnyContent }
        #expect(results.map(\.outcome) == [isFetched ? .fetched : .failed])
        #expect(results.map(\.failure?.code) == [isFetched ? nil : "malformed-response"])
    }

    // MARK: Ranges

    private func partial(_ range: String, status: Int = 206) -> Reply {
        Reply.ok(Self.icon).status(status).header("Content-Range", range)
    }

    @Test func onlyA206WithAllBytesCountsAsA200() async throws {
        let count = Self.icon.count
        let ranges = [
            "bytes 0-\(count - 1)/\(count)", "bytes 0-\(count - 1)/\(count + 1)",
            "bytes 0-\(count - 1)/*", "bytes 1-\(count)/\(count + 1)",
            "bytes 0-\(Int64.max)/*",
        ]
        origin.onAny { request in partial(ranges[Int(request.path.dropFirst()) ?? 0]) }
        let results = try await fetch(ranges.indices.map { "/\($0)" })
        let fetched = results.filter { $0.outcome == .fetched }.map(\.url)
        #expect(fetched == [origin.url("/0")])
        #expect(results.count == ranges.count)
    }

    private static let large = IconPainter.largeBMP(seed: 1, bytes: 196_000)

    /// Cuts the first body. Answers a range request with `answer`.
    private func cutAndAnswer(_ answer: @escaping @Sendable (_ first: Int) -> Reply) {
        origin.onAny { request in
            let whole = Reply.ok(Self.large).header("ETag", "\"1\"")
                .header("Accept-Ranges", "bytes")
            if request.attempt == 1 { return whole.cut(after: 150_000) }
            guard let range = request.header("Range"),
                let first = Int(range.dropFirst(6).dropLast())
            else { return whole }
            return answer(first)
        }
    }

    private static func rest(
        _ bytes: some Sequence<UInt8>, from first: Int, tag: String = "\"1\"", status: Int = 206
    ) -> Reply {
        Reply.ok(bytes).header("ETag", tag).status(status)
            .header("Content-Range", "bytes \(first)-\(large.count - 1)/\(large.count)")
    }

    /// After a wrong response, the body is fetched from the start, within the same attempt.
    @Test(arguments: [
        "slice", "slice of no form", "slice without a range", "other range", "other tag",
        "all bytes", "all bytes in chunks", "a byte more", "403", "416",
    ])
    func aWrongResponseToARangeRequestIsDiscarded(kind: String) async throws {
        cutAndAnswer { first in
            let (slice, total) = (Self.large[first...], Self.large.count)
            let plain = Reply.ok(slice).header("ETag", "\"1\"")
            return switch kind {
            case "slice": Self.rest(slice, from: first, status: 200)
            case "slice of no form":
                plain.header("Content-Range", "\(first)-\(total - 1)/\(total)").chunked()
            case "slice without a range": plain
            case "other range":
                plain.status(206)
                    .header("Content-Range", "bytes \(first + 1)-\(total)/\(total + 1)")
            case "other tag": Self.rest(slice, from: first, tag: "\"2\"")
            case "all bytes": Self.rest(Self.large, from: first)
            case "all bytes in chunks": Self.rest(Self.large, from: first).chunked()
            case "a byte more": Self.rest(slice + [0], from: first).chunked()
            default: .status(Int(kind) ?? 500)
            }
        }
        let results = try await fetch(["/a"], attempts: 2)
        #expect(results.map(\.outcome) == [.fetched])
        #expect(results.first?.bytes == Int64(Self.large.count))
        #expect(origin.requests.map { $0.header("Range") != nil } == [false, true, false])
    }

    @Test func aResumedBodyWithTheWrongDigestIsDiscarded() async throws {
        cutAndAnswer { first in Self.rest(Self.large[first...].map { $0 ^ 1 }, from: first) }
        let digest = Digest(of: Self.large).hex
        let text = #"[{"icon": "\#(origin.url("/a"))", "sha256": "\#(digest)"}]"#
        #expect(try await fetch(text: text, 2).map(\.outcome) == [.fetched])
        #expect(origin.requests.map { $0.header("Range") != nil } == [false, true, false])
    }
}
