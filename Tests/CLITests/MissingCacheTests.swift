import Foundation
import LarderTestSupport
import Testing

/// The rule for a missing cache. Commands that read or change a cache refuse it, because a mistyped
/// path must not look like an empty cache. `plan` reads it as empty. Commands that store icons or
/// pins create it.
@Suite struct MissingCacheTests {
    enum Rule { case refuse, readAsEmpty, create }

    private static let remote =
        "--remote s3://none --remote-endpoint http://127.0.0.1:9 --remote-unsigned"

    private static let commands: [(String, Rule)] = [
        ("path URL", .refuse), ("cat URL", .refuse), ("list", .refuse), ("status", .refuse),
        ("verify", .refuse), ("verify --repair", .refuse), ("verify --manifest APPS", .refuse),
        ("evict", .refuse), ("evict --max-size 0 --quiet", .refuse), ("evict --dry-run", .refuse),
        ("pin", .refuse), ("unpin --all", .refuse), ("reindex", .refuse),
        ("reindex --exclusive nightly", .refuse), ("snapshot OUTPUT", .refuse),
        ("export OUTPUT --layout files", .refuse),
        ("localize APPS --output OUTPUT", .refuse),
        // The manifest is read from the cache.
        ("import SEED --layout nuke --manifest URL", .refuse),
        ("serve --listen 127.0.0.1:0", .refuse),
        ("remote push \(remote)", .refuse), ("remote verify --repair \(remote)", .refuse),
        ("plan APPS", .readAsEmpty),
        ("prefetch APPS --allow-private-network", .create), ("pin URL", .create),
        ("import SEED --layout nuke --manifest APPS", .create),
        // An empty manifest needs no request to the remote.
        ("remote pull --manifest EMPTY \(remote)", .create),
    ]

    @Test func theTableHasEveryCommandThatUsesACache() throws {
        let definitions = try Definitions()
        let listed = Self.commands.compactMap { definitions.command(of: $0.0[...])?.name }
        let all = definitions.commands.filter { !$0.isGroup }.map(\.name)
        #expect(Set(listed) == Set(all).subtracting(["remote evict", "config"]))
    }

    @Test(arguments: commands)
    func aMissingCacheIsHandledByTheRule(_ line: String, _ rule: Rule) async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let seed = larder.directory.path("seed")
            let output = larder.directory.path("output")
            try FileManager.default.createDirectory(
                atPath: seed + "/com.github.kean.Nuke.DataCache", withIntermediateDirectories: true)
            let words = [
                "URL": url, "SEED": seed, "OUTPUT": output, "APPS": try larder.manifest(url),
                "EMPTY": try larder.manifest([], name: "empty.json"),
            ]
            let finished = try larder.run(
                arguments: line.split(separator: " ").map { words[String($0)] ?? String($0) })
            switch rule {
            case .refuse:
                #expect(finished.status == 66, "\(finished)")
                #expect(
                    finished.standardError
                        == "larder: \(larder.cache): no cache here; name another directory with"
                        + " --cache, or create a cache with a prefetch\n")
                #expect(finished.standardOutput.isEmpty)
                #expect(!FileManager.default.fileExists(atPath: output))
            case .readAsEmpty:
                #expect(finished.status == 0 && finished.standardError.isEmpty, "\(finished)")
                #expect(finished.standardOutput.hasSuffix("missing 1\n"), "\(finished)")
            case .create: #expect(finished.status == 0, "\(finished)")
            }
            #expect(larder.hasCache == (rule == .create))
        }
    }
}
