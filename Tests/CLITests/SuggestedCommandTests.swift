import Foundation
import LarderTestSupport
import Testing

@testable import larder

/// Commands in messages. They work when pasted, because they repeat options of the run.
@Suite struct SuggestedCommandTests {
    @Test(arguments: [
        "prefetch m --retry-failed", "plan m", "verify --repair", "verify --manifest m", "evict",
        "reindex", "remote verify --remote r --repair",
    ])
    func aSuggestedCommandHasTheOptionsThatItRepeats(_ words: String) {
        let split = words.split(separator: " ").map(String.init)
        let command = NamedCommand.program.find(split).command
        let options = command.options
        for name in OptionsInUse.names(for: words) {
            #expect(options[name] != nil, "\(command.name) \(name)")
        }
    }

    @Test func optionsAreQuotedAndSecretsAreHidden() {
        let arguments = [
            "larder", "prefetch", "apps.json", "--cache", "my icons", "--header", "X-Key: secret",
            "--proxy", "http://u:secret@proxy.example:3128", "--ca-cert=ca.pem", "--report", "r",
            "--netrc", "--icon-key", "art.big", "-j", "4", "--", "--allow-downgrade",
        ]
        func text(_ words: String) -> String {
            OptionsInUse.text(for: words, in: arguments, environment: ["LARDER_CACHE": "other"])
        }
        let access = " --cache 'my icons' --header '…' --proxy '…' --ca-cert ca.pem --netrc"
        #expect(text("reindex") == " --cache 'my icons'")
        #expect(text("verify --repair") == access)
        #expect(text("verify --manifest m") == access + " --icon-key art.big")
        #expect(
            text("prefetch m --retry-failed")
                == access + " --icon-key art.big --max-concurrent 4")
    }

    /// A value after a space would be another option.
    @Test(arguments: [["--cache=-c"], ["--cache", "-c"]])
    func valuesThatLookLikeOptionsFollowAnEqualsSign(_ options: [String]) {
        let text = OptionsInUse.text(
            for: "reindex", in: ["larder", "verify"] + options, environment: [:])
        #expect(text == " --cache=-c")
        #expect("-m.json".shellArgument == "./-m.json" && "-".shellArgument == "-")
    }

    /// The variable may be set only for this run.
    @Test func theCacheOfTheEnvironmentIsNamed() {
        let arguments = ["larder", "verify"]
        let named = ["LARDER_CACHE": "/srv/icons"]
        #expect(
            OptionsInUse.text(for: "reindex", in: arguments, environment: named)
                == " --cache /srv/icons")
        #expect(OptionsInUse.text(for: "reindex", in: arguments, environment: [:]).isEmpty)
    }

    /// Runs the printed command in a shell, from its first words to the end of the line or clause.
    private func paste(
        _ command: String, from finished: Finished, _ status: Int32, in larder: CLIFixture
    ) throws {
        let output = finished.standardOutput + finished.standardError
        let start = try #require(output.range(of: "larder \(command)"), "\(finished)").lowerBound
        let printed = output[start...].prefix { $0 != "\n" && $0 != ";" }
        let pasted = try RunningProcess(
            "/bin/sh",
            ["-c", "exec \"$0\" \(printed.dropFirst("larder ".count))", larder.binary.path],
            directory: larder.directory.path
        ).wait(timeout: 300)
        #expect(pasted.status == status, "\(printed): \(pasted)")
    }

    @Test(arguments: ["snapshot", "reindex", "cat", "verify"])
    func suggestionsForDamagedObjectsWorkWhenPasted(_ command: String) async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let manifest = try larder.manifest(url)
            #expect(try larder.prefetch(manifest).status == 0)
            try larder.overwrite(try larder.objectPath(url), with: [1])
            switch command {
            case "snapshot":
                let copy = larder.directory.path("copy")
                try paste(
                    "verify", from: try larder.run("snapshot", copy, "--quiet"), 2, in: larder)
            case "reindex":
                try paste("verify", from: try larder.run("reindex", "--quiet"), 2, in: larder)
            case "cat":
                // The run has no network option, so the repair refuses the loopback address.
                try paste("verify --repair", from: try larder.run("cat", url), 2, in: larder)
            default:
                let network = ["--allow-private-network"]
                try paste(
                    "verify --repair --manifest ",
                    from: try larder.run(
                        arguments: ["verify", "--manifest", manifest] + network), 0, in: larder)
                #expect(try larder.cat(url) == Icons.icon(0))
            }
        }
    }

    @Test func suggestionsForMissingIconsAndIndexesWorkWhenPasted() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            #expect(try larder.prefetch(try larder.manifest(urls[0])).status == 0)
            let manifest = try larder.manifest(urls[1], name: "more.json")
            try paste(
                "prefetch ",
                from: try larder.run(
                    "verify", "--manifest", manifest, "--allow-private-network"), 0, in: larder)
            #expect(try larder.cat(urls[1]) == Icons.icon(1))
            for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
                try? FileManager.default.removeItem(atPath: "\(larder.cache)/\(name)")
            }
            try paste("reindex", from: try larder.run("status"), 0, in: larder)
        }
    }
}
