import Foundation
import LarderTestSupport
import Testing

/// `prefetch --offline`, which uses only the cache.
@Suite struct OfflineTests {
    @Test func offlineUsesCachedIconsEvenIfStale() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            origin.on("/fresh", Icons.reply(1).header("Cache-Control", "max-age=3600"))
            origin.on("/stale", Icons.reply(2).header("Cache-Control", "no-cache"))
            origin.on(
                "/variant",
                Icons.reply(3).header("Cache-Control", "max-age=3600").header("Vary", "X-Key"))
            let manifest = try larder.manifest(
                origin.url("/fresh"), origin.url("/stale"), origin.url("/variant"))
            _ = try larder.prefetch(manifest)
            let (requests, connections) = (origin.count(), origin.connectionsOpened)
            let run = try larder.prefetch(manifest, options: ["--offline", "--header", "X-Key: b"])
            #expect(run.status == 0, "\(run.finished)")
            #expect(run.outcomes == ["cached", "cached", "cached"])
            #expect(try run.line(2).digest == "sha256:" + ReferenceSHA256.hex(Icons.icon(2)))
            #expect(origin.count() == requests && origin.connectionsOpened == connections)
        }
    }

    @Test func missingIconsFailOfflineButAreNotRememberedAsFailed() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            let urls = origin.serveIcons(2)
            _ = try larder.prefetch(try larder.manifest(urls[0], name: "first.json"))
            origin.resetLog()
            let manifest = try larder.manifest(urls: urls + [urls[1]])
            let run = try larder.prefetch(manifest, options: ["--offline"])
            #expect(run.status == 2)
            #expect(run.outcomes == ["cached", "failed", "failed"])
            #expect(run.summary.failures == ["offline": 2])
            #expect(try run.line(2).attempts == 0)
            let message = "downloads are turned off"
            #expect(run.finished.standardError.contains(message), "\(run.finished)")
            #expect(origin.count() == 0)
            let status = try larder.run("status", "--json").standardOutput
            #expect(status.contains(#""failures":0,"#), "\(status)")
            let online = try larder.prefetch(manifest)
            #expect(online.status == 0)
            #expect(online.outcomes == ["cached", "fetched", "coalesced"])
        }
    }

    @Test func aCachedIconWithAnotherDigestFailsOffline() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            _ = try larder.prefetch(try larder.manifest(url))
            let other = try larder.manifest([
                ["icon": url, "sha256": String(repeating: "0", count: 64)]
            ])
            let run = try larder.prefetch(other, options: ["--offline"])
            #expect(run.status == 2)
            #expect(run.summary.failures == ["offline": 1])
        }
    }

    @Test func dataURLsAreStoredOffline() async throws {
        try await withFixture { larder in
            let icon = Data(Icons.icon(1)).base64EncodedString()
            let manifest = try larder.manifest("data:image/png;base64,\(icon)")
            let run = try larder.prefetch(manifest, options: ["--offline"])
            #expect(run.status == 0, "\(run.finished)")
            #expect(run.outcomes == ["fetched"])
            #expect(try larder.cat(#require(run.line(1).url)) == Icons.icon(1))
        }
    }

    /// The 404 belongs to an earlier run, and the offline run makes no request.
    @Test func aRemembered404IsReportedAsOffline() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.url("/gone"))
            #expect(try larder.prefetch(manifest).summary.failures == ["http-404": 1])
            let run = try larder.prefetch(manifest, options: ["--offline"])
            #expect(run.summary.failures == ["offline": 1])
            #expect(try larder.prefetch(manifest).summary.failures == ["http-404": 1])
            #expect(larder.origin.count() == 1)
        }
    }
}
