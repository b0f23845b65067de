import Foundation
import LarderPrefetch
import LarderTestSupport
import Testing

/// `prefetch`: its requests, its report and the cache that it fills.
@Suite struct PrefetchTests {
    @Test func aSecondRunMakesNoRequests() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(20)
            let manifest = try larder.manifest(urls: urls)
            let first = try larder.prefetch(manifest)
            #expect(first.status == 0)
            #expect(first.summary.fetched == 20)
            #expect(larder.origin.count() == 20)
            larder.origin.resetLog()
            let connections = larder.origin.connectionsOpened
            let second = try larder.prefetch(manifest)
            #expect(second.status == 0)
            #expect(second.summary.cached == 20)
            // The report names the same objects, with no attempts.
            for line in first.lines {
                let cached = try second.line(line.position)
                #expect(cached.digest == line.digest && cached.bytes == line.bytes)
                #expect(cached.mediaType == line.mediaType && cached.width == line.width)
                #expect(cached.attempts == 0)
            }
            #expect(second.summary.receivedBytes == 0)
            #expect(larder.origin.count() == 0)
            #expect(larder.origin.connectionsOpened == connections)
            #expect(try larder.verify() == 0)
        }
    }

    @Test func prefetchStoresTheServedBytes() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let run = try larder.prefetch(try larder.manifest(urls: urls))
            for (number, url) in urls.enumerated() {
                let line = try run.line(number + 1)
                #expect(line.url == url)
                #expect(line.name == "App \(number + 1)")
                #expect(line.digest == "sha256:" + ReferenceSHA256.hex(Icons.icon(number)))
                #expect(line.bytes == Icons.icon(number).count)
                #expect(line.mediaType == "image/svg+xml")
                #expect(line.width == 16 && line.height == 16)
                #expect(line.attempts == 1)
                #expect(try larder.cat(url) == Icons.icon(number))
            }
            #expect(run.summary.receivedBytes == (0..<3).map { Icons.icon($0).count }.reduce(0, +))
        }
    }

    @Test func iconsWithTheSameNameOnTwoHostsAreTwoObjects() async throws {
        try await withFixture { larder in
            let other = try Origin(replies: ["/icon.png": Icons.reply(2)])
            larder.origin.on("/icon.png", Icons.reply(1))
            let urls = [larder.origin.url("/icon.png"), other.url("/icon.png")]
            let run = try larder.prefetch(try larder.manifest(urls: urls))
            #expect(run.outcomes == ["fetched", "fetched"])
            let status = try larder.status()
            #expect(status.objects == 2 && status.resources == 2)
            #expect(try larder.cat(urls[0]) == Icons.icon(1))
            #expect(try larder.cat(urls[1]) == Icons.icon(2))
        }
    }

    @Test func theSameIconAtTwoURLsIsStoredOnce() async throws {
        try await withFixture { larder in
            larder.origin.on("/a", Icons.reply(1))
            larder.origin.on("/b", Icons.reply(1))
            let urls = [larder.origin.url("/a"), larder.origin.url("/b")]
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).summary.fetched == 2)
            let status = try larder.status()
            #expect(status.objects == 1 && status.resources == 2)
            #expect(status.bytes == Icons.icon(1).count)
            #expect(try larder.objectPath(urls[0]) == larder.objectPath(urls[1]))
        }
    }

    @Test func aURLInSeveralEntriesIsRequestedOnce() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            // The same URL in another spelling.
            let respelled = url.replacingOccurrences(of: "http", with: "HTTP") + "#fragment"
            let run = try larder.prefetch(try larder.manifest(url, respelled, url))
            #expect(run.outcomes == ["fetched", "coalesced", "coalesced"])
            #expect(Set(run.lines.map(\.digest)).count == 1)
            #expect(larder.origin.count() == 1)
        }
    }

    @Test func aKeyIdentifiesAnIconWithManyURLs() async throws {
        try await withFixture { larder in
            larder.origin.on("/a", Icons.reply(1))
            let signed = { (number: Int) in larder.origin.url("/a?signature=\(number)") }
            let first = try larder.manifest([["icon": signed(1), "key": "app-1"]])
            #expect(try larder.prefetch(first).outcomes == ["fetched"])
            let second = try larder.manifest([["icon": signed(2), "key": "app-1"]])
            #expect(try larder.prefetch(second).outcomes == ["cached"])
            #expect(try larder.cat("app-1") == Icons.icon(1))
        }
    }

    @Test func aFailedURLFailsEveryEntryThatNamesIt() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/missing")
            let run = try larder.prefetch(try larder.manifest(url, url))
            #expect(run.outcomes == ["failed", "failed"])
            #expect(run.summary.failures == ["http-404": 2])
            #expect(larder.origin.count() == 1)
        }
    }

    @Test func aManifestMayComeFromStandardInput() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let run = try larder.prefetch("-", standardInput: Data(#"[{"icon": "\#(url)"}]"#.utf8))
            #expect(run.status == 0)
            #expect(try run.line(1).manifest == "-")
        }
    }

    @Test func severalManifestsShareOneRun() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let one = try larder.manifest(urls[0], urls[1], name: "one.json")
            let two = try larder.manifest(urls[1], urls[2], name: "two.json")
            let run = try larder.prefetch(one, two)
            let outcomes = run.lines.reduce(into: [:]) {
                $0["\($1.manifest) \($1.position)"] = $1.outcome
            }
            #expect(
                outcomes == [
                    "\(one) 1": "fetched", "\(one) 2": "fetched",
                    "\(two) 1": "coalesced", "\(two) 2": "fetched",
                ])
            #expect(larder.origin.count() == 3)
        }
    }

    @Test func relativeIconsNeedABaseURL() async throws {
        try await withFixture { larder in
            larder.origin.on("/icons/a.svg", Icons.reply(1))
            larder.origin.on("/b.svg", Icons.reply(2))
            let manifest = try larder.manifest("a.svg", "../b.svg")
            let bare = try larder.prefetch(manifest)
            #expect(bare.status == 0 && bare.outcomes == ["skipped", "skipped"])
            #expect(try bare.line(1).error?.code == "relative")
            #expect(try bare.line(1).error?.message.contains("--base-url") == true)
            let run = try larder.prefetch(
                manifest, options: ["--base-url", larder.origin.url("/icons/index.html")])
            #expect(run.status == 0)
            #expect(try larder.cat(larder.origin.url("/icons/a.svg")) == Icons.icon(1))
            #expect(try larder.cat(larder.origin.url("/b.svg")) == Icons.icon(2))
        }
    }

    @Test func anEmptyManifestSucceeds() async throws {
        try await withFixture { larder in
            let run = try larder.prefetch(try larder.write("[]".utf8, to: "apps.json"))
            #expect(run.status == 0)
            #expect(run.summary.entries == 0)
        }
    }

    /// Deleting part of a cache costs downloads, never correctness.
    @Test(arguments: ["index.sqlite", "objects", "tmp", "CACHEDIR.TAG"])
    func aPartlyDeletedCacheIsFilledAgain(_ part: String) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.manifest(urls: urls)
            _ = try larder.prefetch(manifest)
            try FileManager.default.removeItem(atPath: "\(larder.cache)/\(part)")
            let run = try larder.prefetch(manifest)
            #expect(run.status == 0, "\(run.finished)")
            #expect(run.summary.fetched + run.summary.cached == 3)
            #expect(try larder.cat(urls[1]) == Icons.icon(1))
            #expect(try larder.verify() == 0)
        }
    }

    /// An idle cache can be copied as its objects and a single index file.
    @Test func prefetchLeavesNoWriteAheadLog() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(3))
            for _ in 1...2 {
                _ = try larder.prefetch(manifest)
                let names = try FileManager.default.contentsOfDirectory(atPath: larder.cache)
                #expect(Set(names).isSubset(of: Self.cacheFiles), "\(names)")
                #expect(names.contains("index.sqlite"))
            }
        }
    }

    private static let cacheFiles: Set = [
        "CACHEDIR.TAG", "index.sqlite", "index.snapshot.sqlite", "objects", "reserve", "runs",
        "tmp",
    ]

    @Test func requestsHaveAConfigurableUserAgent() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(2))
            _ = try larder.prefetch(manifest, options: ["--max-concurrent", "1"])
            let agent = try #require(larder.origin.requests.first?.header("User-Agent"))
            #expect(agent == "larder/\(LarderVersion.current)")
            larder.origin.resetLog()
            _ = try larder.prefetch(
                manifest, options: ["--user-agent", "Kiosk/7", "--revalidate", "always"])
            let request = try #require(larder.origin.requests.first)
            #expect(request.method == "GET")
            #expect(request.header("User-Agent") == "Kiosk/7")
            #expect(request.header("Accept")?.contains("image/") == true)
            #expect(request.header("If-None-Match") == nil)
        }
    }
}
