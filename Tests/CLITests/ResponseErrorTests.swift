import LarderTestSupport
import Testing

/// Responses that are no icons, between two that are: those are stored, and nothing else.
@Suite struct ResponseErrorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reply: Reply
        let code: String
        /// What the message says; nil where its words are libcurl's, and those of its version.
        let reason: String?

        init(_ name: String, _ reply: Reply, _ code: String, _ reason: String? = nil) {
            testDescription = name
            self.reply = reply
            self.code = code
            self.reason = reason
        }
    }

    static let cases = [
        Case(
            "HTML as 200", .ok("<!DOCTYPE html><html>Sign in</html>", type: "image/png"),
            "not-an-image", "an HTML page, not an image"),
        Case("0 bytes", .ok([], type: "image/png"), "empty", "0 bytes"),
        Case(
            "a PNG cut in half", .ok(Icons.png.prefix(Icons.png.count / 2), type: "image/png"),
            "truncated", "PNG"),
        Case("a PNG with a flipped bit", .ok(damaged(Icons.png)), "damaged", "PNG"),
        Case(
            "a body shorter than its Content-Length",
            .ok(Icons.png).announcing(length: Icons.png.count + 10), "body-truncated"),
        Case(
            "a chunked body without its end", .ok(Icons.png).chunked([100]).cut(after: 100),
            "body-truncated"),
        Case(
            "10 GB announced", .ok(Icons.png).announcing(length: 10_000_000_000), "too-large",
            "10000000000"),
        Case("a redirect loop", .redirect(to: "/bad"), "too-many-redirects", "10 redirects"),
        Case(
            "a redirect to file:", .redirect(to: "file:///etc/passwd"), "redirect-refused",
            "the scheme file"),
        Case(
            "a redirect to nowhere", .status(302), "redirect-refused", "without a Location"),
        Case("a missing file", .status(404), "http-404", "status 404"),
        Case("no content", .status(204), "http-204", "status 204"),
        Case("a 304 that was not asked for", .notModified, "http-304", "status 304"),
        Case("a server that is down", .status(503), "http-503", "status 503"),
        Case("what is not HTTP", .raw("220 ftp.example ready\r\n"), "malformed-response"),
        Case("a connection that is reset", .ok(Icons.png).reset(after: 100), "connection-lost"),
        Case(
            "a huge head", .ok(Icons.png).hugeHeaders(count: 90, bytes: 1000),
            "headers-too-large", "too long"),
    ]

    @Test(arguments: cases) func oneFailsAndTheOthersGoOn(_ bad: Case) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let url = larder.origin.url("/bad")
            larder.origin.on("/bad", bad.reply)
            let manifest = try larder.manifest(urls[0], url, urls[1])
            let run = try larder.prefetch(manifest, options: ["--attempts", "1"])
            #expect(run.status == 2)
            #expect(run.outcomes == ["fetched", "failed", "fetched"])
            let line = try run.line(2)
            #expect(line.error?.code == bad.code, "\(run.finished)")
            #expect(line.error?.message.isEmpty == false)
            if let reason = bad.reason {
                #expect(line.error?.message.contains(reason) == true, "\(run.finished)")
            }
            #expect(line.attempts == 1)
            #expect(line.digest == nil)
            #expect(
                run.finished.standardError.hasPrefix(
                    "larder: \(manifest): entry 2 App 2: \(url) \(bad.code): "),
                "\(run.finished)")
            #expect(run.summary.receivedBytes < 50_000)
            #expect(try larder.status().objects == 2)
            #expect(try larder.cat(url) == nil)
            #expect(try larder.temporaries().isEmpty)
        }
    }

    /// The first of redirects that come back is asked for no more than eleven times.
    @Test func aRedirectLoopEnds() async throws {
        try await withFixture { larder in
            larder.origin.on("/a", .redirect(to: "/b", status: 301))
            larder.origin.on("/b", .redirect(to: "/a", status: 307))
            _ = try larder.prefetch(try larder.manifest(larder.origin.url("/a")))
            #expect(larder.origin.count() == 11)
        }
    }

    @Test func redirectsAreFollowed() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/old")
            let there = try Origin(replies: ["/new": Icons.reply(5)])
            larder.origin.on("/old", .redirect(to: there.url("/new"), status: 308))
            let run = try larder.prefetch(try larder.manifest(url))
            #expect(run.outcomes == ["fetched"])
            #expect(try run.line(1).attempts == 1)
            #expect(try larder.cat(url) == Icons.icon(5))
            // It is known by the URL that the manifest names.
            #expect(try larder.cat(there.url("/new")) == nil)
        }
    }

    @Test func anyContentIsStoredWhereItIsAskedFor() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/page")
            let page = "<!DOCTYPE html><html></html>"
            larder.origin.on("/page", .ok(page, type: "text/html"))
            let manifest = try larder.manifest(url)
            let run = try larder.prefetch(manifest, options: ["--any-content"])
            #expect(run.outcomes == ["fetched"])
            #expect(try run.line(1).mediaType == nil)
            #expect(try larder.cat(url) == Array(page.utf8))
            // It is no icon for a run that wants icons.
            #expect(try larder.prefetch(manifest).outcomes == ["failed"])
        }
    }

    private static func damaged(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        bytes[bytes.count / 2] ^= 0x10
        return bytes
    }
}
