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
            let message =
                "downloads are turned off; a prefetch without --offline downloads the icon"
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

    @Test(.enabled(if: Nobody.isPossible, "requires setpriv, or a user other than root"))
    func aCacheInAnUnwritableDirectoryIsChecked() async throws {
        try await withFixture { larder in
            let manifests = try fill(larder)
            chmod(larder.cache, 0o555)
            defer { chmod(larder.cache, 0o755) }
            try expectCheck(larder.cache, against: manifests) {
                try Nobody.run(larder.binary, $0)
            }
            #expect(larder.origin.count() == 1)
        }
    }

    @Test(.enabled(if: Mount.isPossible, "mounting requires root on Linux"))
    func aCacheOnAReadOnlyMediumIsChecked() async throws {
        try await withFixture { larder in
            let manifests = try fill(larder)
            let medium = try Mount.readOnly(larder.cache, at: larder.directory.path("medium"))
            defer { medium.remove() }
            try expectCheck(medium.path, against: manifests) { try larder.binary.run($0) }
            #expect(larder.origin.count() == 1)
        }
    }

    /// Returns a manifest whose icon is cached, and one with two more icons, which are not.
    private func fill(_ larder: CLIFixture) throws -> (complete: String, incomplete: String) {
        let urls = larder.origin.serveIcons(2)
        let complete = try larder.manifest(urls[0])
        #expect(try larder.prefetch(complete).status == 0)
        let inline = "data:image/svg+xml;base64,\(Data(Icons.icon(2)).base64EncodedString())"
        let incomplete = try larder.manifest(urls[0], urls[1], inline, name: "more.json")
        // Another user reads the cache and the manifests.
        chmod(larder.directory.path, 0o755)
        for manifest in [complete, incomplete] { chmod(manifest, 0o644) }
        return (complete, incomplete)
    }

    private func expectCheck(
        _ cache: String, against manifests: (complete: String, incomplete: String),
        run: ([String]) throws -> Finished
    ) throws {
        let before = try times(in: cache)
        for (manifest, options, status, outcomes) in [
            (manifests.complete, [], 0, ["cached"]),
            (manifests.incomplete, [], 2, ["cached", "failed", "failed"]),
            // The file of this lock does not exist and cannot be created.
            (manifests.complete, ["--exclusive", "nightly"], 0, ["cached"]),
            (manifests.incomplete, ["--exclusive=a"], 2, ["cached", "failed", "failed"]),
        ] as [(String, [String], Int32, [String])] {
            let finished = try run(
                ["prefetch", manifest, "--offline", "--report", "-", "--cache", cache] + options)
            #expect(finished.status == status, "\(finished)")
            let lines = try JSONValue.lines(finished.standardOutputBytes)
            #expect(lines.compactMap { $0["outcome"]?.string } == outcomes, "\(finished)")
            let codes = lines.compactMap { $0["error"]?.object?["code"]?.string }
            #expect(codes.allSatisfy { $0 == "offline" }, "\(finished)")
        }
        #expect(try times(in: cache) == before)
    }

    /// The modification times of a directory and everything in it.
    private func times(in directory: String) throws -> [String: Date] {
        let names = try [""] + FileManager.default.subpathsOfDirectory(atPath: directory)
        var times: [String: Date] = [:]
        for name in names {
            let attributes = try FileManager.default.attributesOfItem(
                atPath: "\(directory)/\(name)")
            times[name] = attributes[.modificationDate] as? Date
        }
        return times
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
