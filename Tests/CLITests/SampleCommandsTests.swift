import Foundation
import LarderTestSupport
import Testing

/// The commands that `Scripts/run` suggests after it has filled the cache.
@Suite struct SampleCommandsTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
    }

    /// Returns the suggested command lines, each with the four spaces before it.
    private func lines() throws -> [String] {
        try text("Scripts/run").split(separator: "\n").map(String.init)
            .filter { $0.hasPrefix("    .build/debug/larder ") }
    }

    @Test func theReadmeShowsTheFirstOne() throws {
        let first = try #require(try lines().first)
        #expect(try text("README.md").contains("\n\(first)\n"))
    }

    @Test func theyRun() async throws {
        let lines = try lines()
        #expect(lines.count == 3)
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(3))
            #expect(try larder.prefetch(manifest).status == 0)
            for line in lines {
                let words = line.split(separator: " ").map(String.init)
                #expect(words.suffix(2) == ["--cache", "cache"])
                let arguments = words.dropFirst().dropLast(2).map { word in
                    word.hasPrefix("manifests/")
                        ? Self.root.appendingPathComponent(word).path : word
                }
                if arguments.first == "serve" {
                    let serve = try ServeRun(larder, Array(arguments.dropFirst()))
                    let gallery = try serve.client().get("/")
                    #expect(gallery.status == 200)
                    #expect(gallery.fields["content-type"]?.hasPrefix("text/html") == true)
                    #expect(try serve.stop().status == 0)
                } else {
                    // The second manifest has unusable entries.
                    let finished = try larder.run(arguments: arguments)
                    #expect(finished.status == (arguments.first == "plan" ? 2 : 0), "\(finished)")
                    #expect(!finished.standardOutput.isEmpty)
                }
            }
        }
    }
}
