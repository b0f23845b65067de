import Foundation
import LarderTestSupport
import Testing

/// Foreign files, links, pipes and odd names in a cache. Commands change only the cache's own
/// files, and do not hang or crash.
///
/// `LARDER_PLANTED_ROUNDS` sets the number of caches to test (default: 12).
@Suite struct PlantedTests {
    private static let entries = 24

    @Test(
        .timeLimit(.minutes(60)),
        arguments: 0..<(testSetting("LARDER_PLANTED_ROUNDS") ?? share(of: 12)))
    func foreignFilesInACacheAreNeverChanged(_ seed: Int) async throws {
        try await withFixture { larder in
            var random = Pseudorandom(seed: seed)
            let urls = larder.origin.serveIcons(Self.entries)
            let manifest = try larder.manifest(urls: urls)
            try #require(try larder.prefetch(manifest).status == 0)
            let objects = try urls.map { try larder.objectPath($0) }
            let garden = try Garden(larder, objects: objects, using: &random)
            defer { garden.clear() }

            let network = ["--allow-private-network"]
            var commands: [[String]] = [
                ["verify", "--json"], ["status", "--json"], ["list"], ["plan", manifest],
                ["cat", urls[0]], ["path", urls[1]], ["pin", urls[2]], ["pin"],
                ["evict", "--dry-run"],
                ["prefetch", manifest, "--report", larder.directory.path("r")] + network,
                ["prefetch", manifest, "--revalidate", "always"] + network,
                ["verify", "--repair"] + network, ["verify", "--max-duration", "1s"],
                ["evict", "--max-count", "5"], ["evict", "--max-size", "0", "--grace", "0"],
                ["reindex"], ["unpin", urls[2]],
            ]
            commands.shuffle(using: &random)
            for command in commands + [["verify", "--repair"] + network] {
                let finished = try larder.binary.run(command + ["--cache", larder.cache])
                #expect([0, 1, 2].contains(finished.status), "\(command): \(finished)")
                let changes = garden.changes()
                try #require(changes.isEmpty, "\(command): \(changes); in place: \(garden.shown)")
            }

            // Once its own names are free again, the cache works despite the other foreign files.
            try garden.weed()
            let run = try larder.binary.run(
                ["prefetch", manifest, "--cache", larder.cache, "--quiet"] + network)
            try #require(run.status == 0, "\(run); \(garden.shown)")
            let repair = try larder.run("verify", "--repair", "--allow-private-network")
            #expect(repair.status == 0, "\(repair); \(garden.shown)")
            for (number, url) in urls.enumerated() {
                #expect(try larder.cat(url) == Icons.icon(number), "\(url); \(garden.shown)")
            }
            #expect(garden.changes().isEmpty)
        }
    }
}
