import Foundation
import LarderPrefetch
import LarderTestSupport
import Testing

/// Single URLs that callers cancel while a run goes on.
@Suite(.timeLimit(.minutes(30))) struct LiveCancellationTests {
    private let paths = (0..<300).map { "/\($0)" }

    private func expectCancelled(
        _ results: [EntryResult]?, attempts: Int, entries: Int = 1,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(results?.count == entries, sourceLocation: sourceLocation)
        for result in results ?? [] {
            #expect(result.outcome == .failed, sourceLocation: sourceLocation)
            #expect(result.problem?.code == "cancelled", sourceLocation: sourceLocation)
            #expect(result.attempts == attempts, sourceLocation: sourceLocation)
        }
    }

    /// In the plan, in a page that was read, in what was handed over, and after it was moved.
    @Test(arguments: [(299, nil), (40, nil), (2, nil), (298, 8), (39, -8), (3, 8), (4, -8)])
    func whatWaitsIsNotAskedFor(number: Int, priority: Int?) async throws {
        let live = try LiveRun(of: paths)
        async let finished = live.finished()
        try await live.origin.waitForRequests(1)
        let path = "/\(number)"
        if let priority {
            live.prefetcher.setPriority(priority, of: live.origin.url(path))
            await live.changesAreTaken()
        }
        for _ in 0..<2 { live.prefetcher.cancel(live.origin.url(path)) }
        // While the first still waits for its answer.
        await live.isReported(path)
        live.prefetcher.setPriority(100, of: live.origin.url(path))
        live.gate.open()
        let (report, results) = try await finished
        expectCancelled(results[path], attempts: 0)
        #expect(live.order.sorted() == paths.filter { $0 != path }.sorted())
        #expect(report.count(.fetched) >= 299)
        #expect(results.count == 300)
    }

    @Test func whatIsUnderWayEnds() async throws {
        let live = try LiveRun(of: paths)
        async let finished = live.finished()
        try await live.origin.waitForRequests(1)
        live.prefetcher.cancel(live.origin.url("/0"))
        // Its answer never comes; the next one's has to wait as well.
        await live.isReported("/0")
        live.gate.open()
        let (_, results) = try await finished
        expectCancelled(results["/0"], attempts: 1)
        #expect(live.order == paths)
        #expect(results.values.count { $0.map(\.outcome) == [.fetched] } == 299)
    }

    /// `URL` has percent-encoded what the manifest has not.
    @Test func aURLThatAnAppSpellsOtherwiseIsCancelled() async throws {
        let live = try LiveRun(of: ["/0", "/a%7cb[c]", "/2"])
        async let finished = live.finished()
        try await live.origin.waitForRequests(1)
        let url = try #require(URL(string: live.origin.url("/a|b[c]")))
        #expect(url.absoluteString.hasSuffix("/a%7Cb%5Bc%5D"))
        live.prefetcher.cancel(url)
        await live.isReported("/a|b[c]")
        live.gate.open()
        let (_, results) = try await finished
        expectCancelled(results["/a|b[c]"], attempts: 0)
        #expect(live.order.sorted() == ["/0", "/2"])
    }

    @Test func allEntriesOfTheURLAreReported() async throws {
        let live = try LiveRun(of: ["/0", "/1", "/1", "/2", "/1"])
        async let finished = live.finished()
        try await live.origin.waitForRequests(1)
        live.prefetcher.cancel(live.origin.url("/1"))
        await live.isReported("/1")
        live.gate.open()
        let (report, results) = try await finished
        expectCancelled(results["/1"], attempts: 0, entries: 3)
        #expect((report.failures["cancelled"] ?? 0) >= 3)
        #expect(live.order == ["/0", "/2"])
    }

    /// The delay before another attempt, or the host's own wish, is an hour.
    @Test(arguments: [false, true])
    func whatWaitsForAnotherAttemptIsReportedAtOnce(isHeldBack: Bool) async throws {
        let live = try LiveRun(
            of: [],
            entries: { origin in
                ["/a", "/b"].map { #"{"icon": "\#(origin.url($0, host: "localhost"))"}"# }
                    + [#"{"icon": "\#(origin.url("/first"))", "priority": 1}"#]
            },
            configure: {
                $0.retry.base = .seconds(360_000)
                $0.retry.cap = .seconds(360_000)
                $0.retry.maximumTime = .seconds(1_000_000)
            })
        live.origin.on("/a") { _ in
            isHeldBack ? .status(429).header("Retry-After", "3600") : .status(500)
        }
        live.origin.on("/b") { _ in
            isHeldBack ? .status(429).header("Retry-After", "3600") : .status(500)
        }
        live.gate.open()
        async let finished = live.finished()
        try await live.origin.waitForRequests(1, to: "/a")
        await live.isReported("/first")
        await live.changesAreTaken()
        // To be first among those who wait does not shorten the waiting.
        live.prefetcher.setPriority(1000, of: live.origin.url("/b", host: "localhost"))
        await live.changesAreTaken()
        for path in ["/a", "/b"] {
            live.prefetcher.cancel(live.origin.url(path, host: "localhost"))
        }
        let (report, results) = try await finished
        expectCancelled(results["/a"], attempts: 1)
        expectCancelled(results["/b"], attempts: isHeldBack ? 0 : 1)
        #expect(live.origin.count("/a") == 1)
        #expect(live.origin.count("/b") == (isHeldBack ? 0 : 1))
        #expect(!report.isInterrupted)
    }

    /// It was led to a host that is held back.
    @Test func whatWaitsAtAnotherHostIsReportedAtOnce() async throws {
        let live = try LiveRun(
            of: [],
            entries: { origin in
                [
                    #"{"icon": "\#(origin.url("/held", host: "localhost"))", "priority": 2}"#,
                    #"{"icon": "\#(origin.url("/from"))", "priority": 1}"#,
                    #"{"icon": "\#(origin.url("/last"))"}"#,
                ]
            },
            configure: { $0.retry.maximumTime = .seconds(1_000_000) })
        let target = live.origin.url("/to", host: "localhost")
        live.origin.on("/held") { _ in .status(429).header("Retry-After", "3600") }
        live.origin.on("/from", Reply.redirect(to: target))
        async let finished = live.finished()
        try await live.origin.waitForRequests(1, to: "/last")
        await live.changesAreTaken()
        live.prefetcher.setPriority(8, of: live.origin.url("/from"))
        await live.changesAreTaken()
        live.prefetcher.cancel(live.origin.url("/from"))
        await live.isReported("/from")
        live.prefetcher.cancel(live.origin.url("/held", host: "localhost"))
        live.gate.open()
        let (_, results) = try await finished
        expectCancelled(results["/from"], attempts: 1)
        expectCancelled(results["/held"], attempts: 1)
        #expect(live.origin.count("/to") == 0)
    }

    /// An origin each, so that most have had no turn; and the run ends.
    @Test(arguments: [1, 40])
    func everythingCanBeCancelled(hosts: Int) async throws {
        let numbers = 0..<500
        let live = try LiveRun(
            of: [],
            entries: { origin in
                numbers.map { number in
                    let host = hosts == 1 ? "127.0.0.1" : "h\(number % hosts).localhost"
                    return #"{"icon": "\#(origin.url("/\(number)", host: host))"}"#
                }
            })
        async let finished = live.finished()
        try await live.origin.waitForRequests(1)
        // Or those would be asked for in the end, and wait for their answers.
        live.cancelMarkers()
        for number in numbers.reversed() {
            let host = hosts == 1 ? "127.0.0.1" : "h\(number % hosts).localhost"
            live.prefetcher.cancel(live.origin.url("/\(number)", host: host))
        }
        let (report, results) = try await finished
        #expect(live.order == ["/0"])
        #expect(results.count == 500)
        #expect(report.failures == ["cancelled": report.icons])
        #expect(!report.isInterrupted)
    }

    @Test func callsWhileThePlanIsMadeAreKept() async throws {
        let live = try LiveRun(of: paths)
        // Also before the run begins.
        live.prefetcher.setPriority(8, of: live.origin.url("/200"))
        live.prefetcher.cancel(live.origin.url("/0"))
        live.prefetcher.setPriority(9, of: live.origin.url("/0"))
        async let finished = live.finished()
        await live.isReported("/0")
        try await live.origin.waitForRequests(1)
        live.gate.open()
        let (_, results) = try await finished
        expectCancelled(results["/0"], attempts: 0)
        #expect(live.origin.count("/0") == 0)
        #expect(live.order.first == "/200")
    }

    @Test func aURLIsKnownByAnySpelling() async throws {
        let live = try LiveRun(
            of: ["/0"],
            entries: { origin in
                let upper = origin.url("/a%7Eb").replacing("http://", with: "HTTP://")
                return [
                    #"{"icon": "\#(upper)#icon"}"#, #"{"icon": "\#(upper)c"}"#,
                    #"{"icon": "\#(origin.url("/d e"))"}"#, #"{"icon": "\#(origin.url("/é"))"}"#,
                    #"{"icon": "\#(origin.url("/keyed"))", "key": "logo"}"#,
                    #"{"icon": "\#(origin.url("/unkeyed"))", "key": "other"}"#,
                ]
            })
        async let finished = live.finished()
        try await live.origin.waitForRequests(1)
        let base = live.origin.url("")
        live.prefetcher.cancel(base.replacing("http://", with: "HTTP://") + "/a%7Eb#icon")
        live.prefetcher.cancel(base.replacing("http://", with: "http://me:secret@") + "/a%7Ebc")
        live.prefetcher.cancel(base + "/d e")
        live.prefetcher.cancel(try #require(URL(string: base + "/%C3%A9")))
        live.prefetcher.cancel("key:logo")
        // Its key is what it is known by.
        live.prefetcher.cancel(live.origin.url("/unkeyed"))
        await live.changesAreTaken()
        live.gate.open()
        _ = try await finished
        #expect(live.order == ["/0", "/unkeyed"])
    }

    @Test func callsThatMeanNothingDoNothing() async throws {
        let live = try LiveRun(of: paths)
        live.prefetcher.cancel("")
        async let finished = live.finished()
        try await live.origin.waitForRequests(1)
        let texts = [
            "", "x", "icon.png", "file:///etc/passwd", "key:", "ni:///sha-256;x", "http://",
            live.origin.url("/300"), live.origin.url("/"), live.origin.url("/0", host: "localhost"),
            "http://zzz.example/", "http://aaa.example/",
            "http://x.example/" + String(repeating: "x", count: 100_000),
        ]
        for text in texts {
            live.prefetcher.cancel(text)
            live.prefetcher.setPriority(.max, of: text)
            live.prefetcher.setPriority(.min, of: text)
        }
        await live.changesAreTaken()
        live.gate.open()
        let (report, results) = try await finished
        #expect(results.values.allSatisfy { $0.map(\.outcome) == [.fetched] })
        #expect(live.order == paths)
        // Nobody listens any more.
        live.prefetcher.cancel(live.origin.url("/0"))
        live.prefetcher.setPriority(8, of: live.origin.url("/0"))
        #expect(report.icons == 364)
    }

    /// Neither a body on its way to the store nor its commit is disturbed.
    @Test func whatIsStoredIsDone() async throws {
        let live = try LiveRun(of: ["/0", "/1"], isHeld: { $0 == "/1" })
        async let finished = live.finished()
        try await live.origin.waitForRequests(1, to: "/1")
        await live.changesAreTaken()
        live.prefetcher.cancel(live.origin.url("/0"))
        await live.changesAreTaken()
        live.gate.open()
        let (_, results) = try await finished
        #expect(results["/0"]?.map(\.outcome) == [.fetched])
    }

    @Test func whatWasCancelledIsNotRememberedAsFailed() async throws {
        let live = try LiveRun(of: ["/0", "/1"])
        async let finished = live.finished()
        try await live.origin.waitForRequests(1)
        live.prefetcher.cancel(live.origin.url("/0"))
        live.prefetcher.cancel(live.origin.url("/1"))
        await live.isReported("/0")
        await live.isReported("/1")
        live.gate.open()
        _ = try await finished
        let (report, _) = try await prefetch(
            manifest(["/0", "/1"].map { live.origin.url($0) }), into: live.cache
        ) { $0.policy.retriesOnlyFailed = true }
        #expect(report.count(.skipped) == 2)
    }
}
