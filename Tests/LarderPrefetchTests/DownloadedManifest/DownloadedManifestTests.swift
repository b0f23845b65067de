import Foundation
import LarderCore
import LarderHTTP
import LarderManifest
import LarderTestSupport
import Testing

@testable import LarderPrefetch

@Suite(.timeLimit(.minutes(30))) struct DownloadedManifestTests {
    private func manifest(_ url: String) throws -> DownloadedManifest {
        var transfer = TransferConfiguration()
        transfer.addressPolicy = .allowAll
        var manifest = DownloadedManifest(url: try HTTPURL(url), transfer: transfer)
        manifest.retry.base = .milliseconds(1)
        manifest.retry.overloadBase = .milliseconds(1)
        return manifest
    }

    private func icons(_ manifest: DownloadedManifest) throws -> [String] {
        var icons: [String] = []
        var rules = ManifestRules()
        rules.limits.maximumUnpackedSize = manifest.maximumBytes
        let source = ManifestSource.url(manifest.url) { _ in try manifest.download() }
        _ = try ManifestReader(source: source, rules: rules).read { item in
            if case .entry(let entry) = item.result { icons.append(entry.icon.string) }
        }
        return icons
    }

    private func error(_ manifest: DownloadedManifest) -> ManifestError? {
        do {
            _ = try icons(manifest)
            return nil
        } catch {
            return error as? ManifestError
        }
    }

    @Test func relativeIconsAreResolvedAgainstTheRedirectTarget() throws {
        let origin = try Origin()
        origin.on("/start", .redirect(to: "/lists/apps.json"))
        origin.on("/lists/apps.json", .ok(#"[{"icon": "a.png"}, {"icon": "/b.png"}]"#))
        let manifest = try manifest(origin.url("/start"))
        #expect(try icons(manifest) == ["/lists/a.png", "/b.png"].map { origin.url($0) })
    }

    @Test func onlyTemporaryFailuresOfADownloadAreRetried() throws {
        let origin = try Origin()
        origin.on("/busy") { request in
            request.attempt < 3
                ? .status(503).header("Retry-After", "0") : .ok(#"[{"icon": "a.png"}]"#)
        }
        origin.on("/cut") { request in
            let reply = Reply.ok(#"[{"icon": "a.png"}]"#)
            return request.attempt < 2 ? reply.cut(after: 3) : reply
        }
        #expect(try icons(manifest(origin.url("/busy"))).count == 1)
        #expect(try icons(manifest(origin.url("/cut"))).count == 1)
        let gone = error(try manifest(origin.url("/gone")))
        #expect(gone?.code == .unreadable)
        #expect(gone?.reason.contains("404") == true)
        #expect(origin.count("/gone") == 1)
    }

    @Test func aRetryAfterBeyondTheMaximumTimeIsNotRetried() throws {
        let origin = try Origin()
        origin.on("/busy", .status(503).header("Retry-After", "3"))
        var manifest = try manifest(origin.url("/busy"))
        manifest.retry.maximumTime = .seconds(2)
        #expect(error(manifest)?.reason.contains("503") == true)
        #expect(origin.count("/busy") == 1)
    }

    @Test func theDownloadOfATooLargeManifestEndsEarly() throws {
        let origin = try Origin()
        origin.on("/endless", .endless(Array("[{}, ".utf8)))
        origin.on("/announced", .ok(String(repeating: " ", count: 2000)))
        for path in ["/endless", "/announced"] {
            var manifest = try manifest(origin.url(path))
            manifest.maximumBytes = 1000
            #expect(error(manifest)?.code == .tooLarge)
            #expect(origin.count(path) == 1)
        }
    }

    /// A few bytes that decompress to 10,000.
    @Test func theSizeLimitAppliesToTheDecompressedManifest() throws {
        let packed = try #require(
            Data(
                base64Encoded:
                    "H4sIAAAAAAACA+3BAQkAAAwDoCrvNd6/xnIM1BwAAAAAAAAAAADM+wInJ9EVECcAAA=="))
        let origin = try Origin(replies: ["/a.json.gz": .ok(Array(packed))])
        var manifest = try manifest(origin.url("/a.json.gz"))
        manifest.maximumBytes = 9_999
        #expect(error(manifest)?.code == .tooLarge)
        manifest.maximumBytes = 10_000
        #expect(try icons(manifest).isEmpty)
    }

    @Test func aPrivateAddressIsRefusedWithoutAConnection() throws {
        let origin = try Origin(replies: ["/a": .ok("[]")])
        let manifest = DownloadedManifest(url: try HTTPURL(origin.url("/a")))
        let refused = error(manifest)
        #expect(refused?.code == .unreadable)
        #expect(refused?.reason.contains("--allow-private-network") == true)
        #expect(origin.connectionsOpened == 0)
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:1/"])
    func aRedirectToAnotherSchemeIsRefused(_ location: String) throws {
        let origin = try Origin(replies: ["/a": .redirect(to: location)])
        #expect(error(try manifest(origin.url("/a")))?.reason.contains("scheme") == true)
    }

    /// An empty Location is a redirect to the same URL.
    @Test(arguments: [("", "more than 10 redirects", 11), (nil, "without a Location", 1)])
    func aRedirectWithoutATargetFails(location: String?, reason: String, requests: Int) throws {
        let origin = try Origin()
        origin.on("/a", location.map { Reply.redirect(to: $0) } ?? .status(302))
        #expect(error(try manifest(origin.url("/a")))?.reason.contains(reason) == true)
        #expect(origin.count("/a") == requests)
    }

    @Test func onlyA206WithAllBytesIsAManifest() throws {
        let origin = try Origin()
        let text = #"[{"icon": "a.png"}]"#
        for (path, total) in [("/all", text.utf8.count), ("/part", text.utf8.count + 1)] {
            origin.on(
                path,
                Reply.ok(text).status(206)
                    .header("Content-Range", "bytes 0-\(text.utf8.count - 1)/\(total)"))
        }
        #expect(try icons(manifest(origin.url("/all"))).count == 1)
        #expect(error(try manifest(origin.url("/part")))?.reason.contains("206") == true)
    }

    @Test(arguments: [-1, 1])
    func a206WithAnotherSizeThanItsRangeIsNotAManifest(difference: Int) throws {
        let origin = try Origin()
        let text = #"[{"icon": "a.png"}]"#
        let total = text.utf8.count + difference
        origin.on(
            "/a",
            Reply.ok(text).status(206).withoutLength()
                .header("Content-Range", "bytes 0-\(total - 1)/\(total)"))
        let reason = try error(manifest(origin.url("/a")))?.reason
        #expect(reason?.contains("received \(text.utf8.count) of \(total) bytes") == true)
    }

    /// The second attempt is another chain.
    @Test func cookiesAreSentOnlyInTheirRedirectChain() throws {
        let origin = try Origin()
        origin.onAny { request in
            guard request.header("Cookie") != nil else {
                return Reply.redirect(to: request.target).header("Set-Cookie", "a=1; Path=/")
            }
            return request.attempt == 2
                ? .status(503).header("Retry-After", "0") : .ok(#"[{"icon": "a.png"}]"#)
        }
        #expect(try icons(manifest(origin.url("/a"))).count == 1)
        #expect(origin.requests.map { $0.header("Cookie") } == [nil, "a=1", nil, "a=1"])
    }

    /// Binary plists are read from the end, so the download must be a seekable file.
    @Test func aBinaryPlistIsReadFromAURL() throws {
        let plist = try PropertyListSerialization.data(
            fromPropertyList: [["icon": "a.png"]], format: .binary, options: 0)
        let origin = try Origin(replies: ["/apps.plist": .ok(plist)])
        #expect(try icons(manifest(origin.url("/apps.plist"))) == [origin.url("/a.png")])
    }

    /// A stalled download, and a server that requests a delay of five minutes.
    @Test(.timeLimit(.minutes(30)), arguments: [true, false])
    func aCancelledDownloadEndsPromptly(isStalled: Bool) async throws {
        let stalled = Reply.ok("[{").announcing(length: 100).stalling(after: 2)
        let busy = Reply.status(503).header("Retry-After", "300")
        let origin = try Origin(replies: ["/apps.json": isStalled ? stalled : busy])
        try await withTemporaryDirectory { directory in
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            let manifest = ManifestSource.url(try HTTPURL(origin.url("/apps.json")))
            let prefetcher = Prefetcher(configuration)
            async let finished = collect(prefetcher, manifest)
            try await origin.waitForRequests(1)
            prefetcher.cancel()
            #expect(try await finished.report.isInterrupted)
            #expect(origin.count() == 1)
        }
    }
}
