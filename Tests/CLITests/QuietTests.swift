import Foundation
import LarderTestSupport
import Testing

/// `--quiet`, for cron: no output on success, and one line on failure.
@Suite struct QuietTests {
    private func prefetch(_ larder: CLIFixture, _ manifest: String, _ options: String...) throws
        -> Finished
    {
        try larder.binary.run(
            ["prefetch", manifest, "-q", "--allow-private-network", "--cache", larder.cache]
                + options)
    }

    private func expectOneLine(
        _ finished: Finished, _ status: Int32, _ text: String,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(finished.status == status, "\(finished)", sourceLocation: location)
        #expect(finished.standardOutput.isEmpty, "\(finished)", sourceLocation: location)
        #expect(finished.standardError == "larder: \(text)\n", sourceLocation: location)
    }

    @Test func quietCommandsPrintNothingOnSuccess() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(3))
            for arguments in [
                ["prefetch", manifest, "--allow-private-network"],
                ["prefetch", manifest, "--allow-private-network"], ["verify"],
                ["evict", "--max-count", "2"], ["reindex"], ["verify", "--quick"],
            ] {
                let finished = try larder.binary.run(
                    arguments + ["--quiet", "--cache", larder.cache])
                #expect(finished.status == 0, "\(finished)")
                #expect(finished.standardOutput.isEmpty && finished.standardError.isEmpty)
            }
        }
    }

    @Test func failedEntriesPrintOneLine() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let missing = larder.origin.url("/missing")
            let manifest = try larder.manifest(urls: [urls[0], missing, urls[1], "https://"])
            // Entries that need no request fail first.
            let first = "\(manifest): entry 4 App 4: unparsable-url: "
            let finished = try prefetch(larder, manifest)
            #expect(finished.status == 2)
            #expect(finished.standardOutput.isEmpty)
            #expect(
                finished.standardError.hasPrefix(
                    "larder: 2 of 4 entries failed; first failure: \(first)"), "\(finished)")
            #expect(finished.standardError.split(separator: "\n").count == 1)

            let tolerated = try prefetch(larder, manifest, "--max-failures", "2")
            #expect(tolerated.status == 0 && tolerated.standardError.isEmpty, "\(tolerated)")
            let json = try prefetch(larder, manifest, "--max-failures", "1", "--json")
            #expect(json.standardOutput.hasPrefix("{\"entries\":4,"), "\(json)")
            #expect(
                json.standardError.hasPrefix(
                    "larder: 2 of 4 entries failed, more than --max-failures 1 allows; first "))
            #expect(json.standardError.split(separator: "\n").count == 1)
        }
    }

    @Test func aRebuiltIndexIsReportedOnTheSameLine() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.url("/a"))
            larder.origin.on("/a", Icons.reply(1))
            #expect(try larder.prefetch(manifest).status == 0)
            _ = try larder.write("no database".utf8, to: "cache/index.sqlite")
            let missing = try larder.manifest(larder.origin.url("/x"), name: "x.json")
            let finished = try prefetch(larder, missing)
            #expect(finished.status == 2, "\(finished)")
            #expect(finished.standardError.hasPrefix("larder: index rebuilt: 1 object,"))
            #expect(finished.standardError.contains("; 1 of 1 entries failed; first failure: "))
            #expect(finished.standardError.split(separator: "\n").count == 1)
        }
    }

    @Test func damagedObjectsPrintOneLine() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(4)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            let (first, second) = (try larder.objectPath(urls[0]), try larder.objectPath(urls[1]))
            try larder.overwrite(first, with: [1])
            try FileManager.default.removeItem(atPath: second)
            let subject = try #require([first, second].min()).dropFirst(larder.cache.count + 1)
            let message =
                first < second
                ? "the bytes have the digest \(ReferenceSHA256.hex([1]))" : "the file is missing"
            expectOneLine(
                try larder.run("verify", "-q"), 2,
                "1 corrupt, 1 missing, 2 whole; first problem: \(subject): \(message); "
                    + "for details: larder verify --cache \(larder.cache)")
            expectOneLine(
                try larder.run("reindex", "-q"), 2,
                "1 damaged object; for details: larder verify --cache \(larder.cache)")
        }
    }

    @Test func repairedObjectsPrintOneLine() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            try larder.overwrite(try larder.objectPath(urls[0]), with: [1])
            expectOneLine(
                try larder.run("verify", "-q", "--repair", "--allow-private-network"), 0,
                "1 corrupt, 1 whole; all repaired")
            #expect(try larder.run("verify", "-q").standardError.isEmpty)
        }
    }

    @Test func anInterruptedPrefetchPrintsOneLine() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            larder.origin.onAny { _ in Icons.reply(1).heldBy(gate) }
            let manifest = try larder.manifest(larder.origin.url("/a"), larder.origin.url("/b"))
            let process = try larder.binary.start([
                "prefetch", manifest, "-q", "--allow-private-network", "--cache", larder.cache,
            ])
            try await larder.origin.waitForRequests(2)
            process.kill(SIGINT)
            expectOneLine(try process.wait(), 130, "interrupted: 2 of 2 entries unfinished")
        }
    }

    /// Either of the two signals may determine the exit status.
    @Test func aRepairInterruptedTwicePrintsOneLine() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            #expect(try larder.prefetch(try larder.manifest(url)).status == 0)
            try larder.overwrite(try larder.objectPath(url), with: [1])
            let gate = try Gate()
            larder.origin.resetLog()
            larder.origin.on("/0", Icons.reply(0).heldBy(gate))
            let process = try larder.binary.start([
                "verify", "--repair", "-q", "--allow-private-network", "--cache", larder.cache,
            ])
            try await larder.origin.waitForRequests(1)
            process.kill(SIGTERM)
            process.kill(SIGINT)
            let finished = try process.wait()
            gate.open()
            #expect([130, 143].contains(finished.status), "\(finished)")
            #expect(finished.standardError.hasPrefix("larder: interrupted"), "\(finished)")
            #expect(finished.standardError.split(separator: "\n").count == 1, "\(finished)")
        }
    }

    @Test func anUnreadableManifestPrintsOneLine() async throws {
        try await withFixture { larder in
            let manifest = try larder.write("no manifest".utf8, to: "apps.json")
            for arguments in [["prefetch", manifest], ["evict", "--keep", "/nonexistent"]] {
                let finished = try larder.binary.run(
                    arguments + ["-q", "--cache", larder.cache])
                #expect([65, 66].contains(finished.status), "\(finished)")
                #expect(finished.standardError.split(separator: "\n").count == 1)
            }
        }
    }
}
