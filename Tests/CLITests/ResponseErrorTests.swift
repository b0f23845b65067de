import LarderTestSupport
import Testing

/// Failed and invalid responses between two good ones. Only the two good icons are stored.
@Suite struct ResponseErrorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reply: Reply
        let code: String
        /// A part of the message, or nil if the text depends on the version of libcurl.
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
            "a chunked body without an end", .ok(Icons.png).chunked([100]).cut(after: 100),
            "body-truncated"),
        Case(
            "a Content-Length of 10 GB", .ok(Icons.png).announcing(length: 10_000_000_000),
            "too-large",
            "10000000000"),
        Case("a redirect loop", .redirect(to: "/bad"), "too-many-redirects", "10 redirects"),
        Case(
            "a redirect to file:", .redirect(to: "file:///etc/passwd"), "redirect-refused",
            "the scheme file"),
        Case(
            "a redirect without a Location", .status(302), "redirect-refused",
            "without a Location"),
        Case("a missing file", .status(404), "http-404", "status 404"),
        Case("no content", .status(204), "http-204", "status 204"),
        Case("an unsolicited 304", .notModified, "http-304", "status 304"),
        Case("a server that is down", .status(503), "http-503", "status 503"),
        Case(
            "a response that is not HTTP", .raw("220 ftp.example ready\r\n"), "malformed-response"),
        Case("a connection reset", .ok(Icons.png).reset(after: 100), "connection-lost"),
        Case(
            "a huge header", .ok(Icons.png).hugeHeaders(count: 90, bytes: 1000),
            "headers-too-large", "too long"),
    ]

    @Test(arguments: cases) func aBadResponseFailsOnlyItsEntry(_ bad: Case) async throws {
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

    @Test func aRedirectLoopEndsAfterTenRedirects() async throws {
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
            let target = try Origin(replies: ["/new": Icons.reply(5)])
            larder.origin.on("/old", .redirect(to: target.url("/new"), status: 308))
            let run = try larder.prefetch(try larder.manifest(url))
            #expect(run.outcomes == ["fetched"])
            #expect(try run.line(1).attempts == 1)
            #expect(try larder.cat(url) == Icons.icon(5))
            // The icon is stored under the URL in the manifest.
            #expect(try larder.cat(target.url("/new")) == nil)
        }
    }

    @Test func anyContentStoresABodyThatIsNotAnImage() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/page")
            let page = "<!DOCTYPE html><html></html>"
            larder.origin.on("/page", .ok(page, type: "text/html"))
            let manifest = try larder.manifest(url)
            let run = try larder.prefetch(manifest, options: ["--any-content"])
            #expect(run.outcomes == ["fetched"])
            #expect(try run.line(1).mediaType == nil)
            #expect(try larder.cat(url) == Array(page.utf8))
            // Without the option, the stored page is not accepted as an icon.
            #expect(try larder.prefetch(manifest).outcomes == ["failed"])
        }
    }

    private static func damaged(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        bytes[bytes.count / 2] ^= 0x10
        return bytes
    }
}
