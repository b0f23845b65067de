import Foundation
import LarderTestSupport
import Testing

/// Which directory is the cache, and that it may be moved.
@Suite struct CacheLocationTests {
    @Test func theEnvironmentNamesTheCacheWhereNoOptionDoes() async throws {
        try await withFixture { larder in
            let named = larder.directory.path("named")
            #expect(
                try path(larder, ["LARDER_CACHE": named, "XDG_CACHE_HOME": "/elsewhere"]) == named)
            let both = try path(larder, ["LARDER_CACHE": named], "--cache", larder.cache)
            #expect(both == larder.cache)
            #if !canImport(Darwin)
                let home = ["HOME": larder.directory.path]
                #expect(
                    try path(larder, ["XDG_CACHE_HOME": named, "LARDER_CACHE": ""])
                        == named + "/larder")
                let standard = larder.directory.path(".cache/larder")
                #expect(try path(larder, home) == standard)
                // XDG Base Directory Specification: relative paths are invalid.
                #expect(try path(larder, home.merging(["XDG_CACHE_HOME": "x"]) { $1 }) == standard)
            #endif
        }
    }

    @Test func aMovedCacheIsWhole() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.manifest(urls: urls)
            _ = try larder.prefetch(manifest)
            larder.origin.resetLog()
            let moved = larder.directory.path("a place/with ümläuts & 100%")
            try FileManager.default.createDirectory(
                atPath: larder.directory.path("a place"), withIntermediateDirectories: true)
            try FileManager.default.moveItem(atPath: larder.cache, toPath: moved)
            #expect(try larder.binary.run(["verify", "--cache", moved]).status == 0)
            let cat = try larder.binary.run(["cat", urls[2], "--cache", moved])
            #expect(Array(cat.standardOutputBytes) == Icons.icon(2))
            let prefetch = try larder.binary.run(
                ["prefetch", manifest, "--cache", moved, "--allow-private-network"])
            #expect(prefetch.status == 0)
            #expect(prefetch.standardOutput.contains("already cached 3"), "\(prefetch)")
            #expect(larder.origin.count() == 0)
            #expect(!larder.hasCache)
        }
    }

    @Test func aRelativePathIsTakenFromTheWorkingDirectory() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            let finished = try larder.binary.run(
                ["prefetch", manifest, "--cache", "./x/../cache", "--allow-private-network"],
                directory: larder.directory.path)
            #expect(finished.status == 0, "\(finished)")
            #expect(try larder.status().objects == 1)
        }
    }

    private func path(
        _ larder: CLIFixture, _ environment: [String: String], _ arguments: String...
    ) throws -> String {
        struct Status: Decodable { let path: String }
        let finished = try larder.binary.run(
            ["status", "--json"] + arguments, environment: environment)
        return try JSONDecoder().decode(Status.self, from: finished.standardOutputBytes).path
    }
}
